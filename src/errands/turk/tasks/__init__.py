"""Tasks as data: folders of templates and answers, tables, instances, splits, statistics."""
