CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE people (
  id {id},
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  token TEXT NOT NULL UNIQUE,
  secret TEXT NOT NULL,
  is_active INTEGER NOT NULL,
  made DOUBLE PRECISION NOT NULL
);
CREATE TABLE logins (
  key TEXT PRIMARY KEY,
  person BIGINT NOT NULL REFERENCES people,
  until DOUBLE PRECISION NOT NULL
);
CREATE TABLE qualifications (
  person BIGINT NOT NULL REFERENCES people,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  at DOUBLE PRECISION NOT NULL,
  decider BIGINT NOT NULL REFERENCES people,
  note TEXT NOT NULL,
  PRIMARY KEY (person, kind)
);


CREATE TABLE goals (number BIGINT PRIMARY KEY, record TEXT NOT NULL);
CREATE TABLE sessions (
  number BIGINT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  goal BIGINT NOT NULL REFERENCES goals,
  began DOUBLE PRECISION NOT NULL,
  finished DOUBLE PRECISION,
  asin TEXT,
  options TEXT,
  price DOUBLE PRECISION,
  reward DOUBLE PRECISION,
  parts TEXT
);
CREATE TABLE steps (
  session BIGINT NOT NULL REFERENCES sessions,
  number BIGINT NOT NULL,
  at DOUBLE PRECISION NOT NULL,
  action TEXT NOT NULL,
  source BIGINT NOT NULL,
  exact INTEGER NOT NULL,
  page TEXT NOT NULL,
  address TEXT NOT NULL,
  PRIMARY KEY (session, number)
);


CREATE TABLE projects (
  id {id},
  owner BIGINT NOT NULL REFERENCES people,
  name TEXT NOT NULL,
  about TEXT NOT NULL,
  template TEXT NOT NULL,
  columns TEXT NOT NULL,
  wanted BIGINT NOT NULL,
  pay DOUBLE PRECISION NOT NULL,
  minutes BIGINT NOT NULL,
  hosts TEXT NOT NULL,
  task TEXT NOT NULL,
  is_open INTEGER NOT NULL,
  made DOUBLE PRECISION NOT NULL
);
CREATE TABLE items (
  project BIGINT NOT NULL REFERENCES projects,
  number BIGINT NOT NULL,
  inputs TEXT NOT NULL,
  PRIMARY KEY (project, number)
);


CREATE TABLE assignments (
  id {id},
  key TEXT NOT NULL UNIQUE,
  mark TEXT NOT NULL,
  project BIGINT NOT NULL,
  item BIGINT NOT NULL,
  person BIGINT REFERENCES people,
  worker TEXT NOT NULL,
  status TEXT NOT NULL,
  accepted DOUBLE PRECISION,
  until DOUBLE PRECISION,
  submitted DOUBLE PRECISION,
  answers TEXT NOT NULL,
  pay DOUBLE PRECISION NOT NULL,
  FOREIGN KEY (project, item) REFERENCES items (project, number)
);
CREATE INDEX assignments_of_items ON assignments (project, item);
CREATE INDEX assignments_of_people ON assignments (person, project);
CREATE UNIQUE INDEX assignments_once ON assignments (project, item, person)
  WHERE status IN ('accepted', 'submitted');
CREATE INDEX assignments_open ON assignments (until) WHERE status = 'accepted';
CREATE TABLE skips (
  project BIGINT NOT NULL,
  item BIGINT NOT NULL,
  person BIGINT NOT NULL REFERENCES people,
  PRIMARY KEY (project, item, person)
);


CREATE TABLE outings (
  number {id},
  session BIGINT NOT NULL UNIQUE REFERENCES sessions,
  person BIGINT NOT NULL REFERENCES people,
  goal BIGINT NOT NULL,
  is_trial INTEGER NOT NULL,
  state TEXT NOT NULL,
  began DOUBLE PRECISION NOT NULL,
  ended DOUBLE PRECISION,
  offered DOUBLE PRECISION NOT NULL,
  pay DOUBLE PRECISION NOT NULL,
  reward DOUBLE PRECISION,
  steps BIGINT NOT NULL,
  states BIGINT NOT NULL,
  items BIGINT NOT NULL,
  searches BIGINT NOT NULL,
  coded DOUBLE PRECISION
);
CREATE UNIQUE INDEX outings_open ON outings (person) WHERE state = 'open';
CREATE INDEX outings_of ON outings (person, number);
CREATE TABLE verdicts (
  number {id},
  person BIGINT NOT NULL REFERENCES people,
  verdict TEXT NOT NULL,
  at DOUBLE PRECISION NOT NULL
);


CREATE TABLE collecting (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE writings (
  id {id},
  person BIGINT NOT NULL REFERENCES people,
  asin TEXT NOT NULL,
  shown TEXT NOT NULL,
  status TEXT NOT NULL,
  is_trial INTEGER NOT NULL,
  instruction TEXT NOT NULL,
  attributes TEXT NOT NULL,
  options TEXT NOT NULL,
  comment TEXT NOT NULL,
  taken DOUBLE PRECISION NOT NULL,
  submitted DOUBLE PRECISION,
  reviewed DOUBLE PRECISION,
  reviewer BIGINT REFERENCES people,
  note TEXT NOT NULL,
  pay DOUBLE PRECISION NOT NULL,
  UNIQUE (person, asin)
);
CREATE UNIQUE INDEX writings_in_hand ON writings (person) WHERE status = 'taken';
CREATE INDEX writings_by_product ON writings (asin);
CREATE INDEX writings_by_status ON writings (status);
