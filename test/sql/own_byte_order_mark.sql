-- U+FEFF, which editors put in front of a text: not part of a statement, and in no name.
drop table if exists obm_t;
﻿create table obm_t (a int, ts timestamp) timestamp(ts) partition by day;
insert into obm_t values (1, 0);
﻿select a from obm_t;
﻿
select a + 1 b from obm_t;
select '﻿x' t, length('﻿x') n;
create table "﻿obm_u" (a int);
create table ﻿obm_u (a int);
create table obm_u ("﻿a" int);
create table obm_u as (select 1 "a﻿");
alter table obm_t add column "﻿b" int;
alter table obm_t rename column a to "﻿a";
rename table obm_t to "﻿obm_t";
create view "﻿obm_v" as (select a from obm_t);
select ﻿a from obm_t;
drop table obm_t;
