"""Who plays a run: processes of this machine, or a Ray cluster."""
