-- Constraints of CREATE TABLE: keys are read and not kept, as PRIMARY KEY is; what would be a promise is refused.
drop table if exists owc;
create table owc (a int, b int constraint nn not null, c int constraint pk unique null, constraint k primary key (a), unique (a, b), constraint u unique (b), "check" int, primary key (c));
select "column", type from table_columns('owc');
drop table owc;
create table owc (constraint int, a int constraint);
create table owc (constraint int primary key, foreign int, check int);
select "column", type from table_columns('owc');
drop table owc;
create table owc (a int, check (a > 1));
create table owc (a int check (a > 1));
create table owc (a int, constraint c check (a > 1));
create table owc (a int, foreign key (a) references other (a));
create table owc (a int, constraint f foreign key (a) references other (a));
create table owc (a int references other (a));
create table owc (a int, constraint u unique);
create table owc (a int, unique ());
drop table if exists owc;
