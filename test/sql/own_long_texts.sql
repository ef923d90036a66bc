-- Texts that are longer than a regular expression is tried at once on: what matches across the place where it is tried anew.
SELECT count() FROM long_sequence(300) WHERE (repeat('a', (16300 + x)::int) || 'NEEDLE' || repeat('b', 9000)) ~ 'aNEEDLEb';
SELECT count() FROM long_sequence(300) WHERE (repeat('é', (8100 + x)::int) || 'NEEDLE' || repeat('ü', 9000)) ~ 'éNEEDLEü';
SELECT count() FROM long_sequence(300) WHERE (repeat('a', (16300 + x)::int) || repeat('b', 9000)) ~ '(?<=a)b(?=b)';
SELECT count() FROM long_sequence(300) WHERE (repeat('a', (16300 + x)::int) || repeat('b', 9000)) ~ '^b';
SELECT count() FROM long_sequence(300) WHERE (repeat('a', (16300 + x)::int) || repeat('b', 9000)) ~ 'a{16384}b{9000}$';
SELECT count() FROM long_sequence(300) WHERE (repeat('a', (16300 + x)::int) || repeat('b', 9000)) !~ 'ba';
SELECT count() FROM long_sequence(300) WHERE glob(repeat('a', (16300 + x)::int) || 'xy' || repeat('b', 9000), '*x?b*');
-- Replaced as in short ones.
SELECT length(regexp_replace(repeat('ab', 100000), 'b', 'xyz')) l;
SELECT length(regexp_replace(repeat('ab', 100000), 'x*', '-')) l, length(regexp_replace(repeat('ab', 4), 'x*', '-')) s;
SELECT length(regexp_replace(repeat('ab', 100000), 'b*', '-')) l, length(regexp_replace(repeat('ab', 4), 'b*', '-')) s, regexp_replace(repeat('ab', 4), 'b*', '-') t;
SELECT length(regexp_replace(repeat('äb', 100000), 'b*', '-')) l, length(regexp_replace(repeat('äb', 4), 'b*', '-')) s;
SELECT length(regexp_replace(repeat('äb', 100000), '', '-')) l;
SELECT regexp_replace(repeat('a', 20000) || 'key=value' || repeat('b', 20000), 'a+([a-z]+)=(val.e)b+', '$2:$1') t;
SELECT regexp_replace(repeat('a', 20000) || repeat('b', 20000), 'a{20000}', '<$0>') ~ '^<a{20000}>b{20000}$' t;
SELECT count() FROM long_sequence(300) WHERE length(regexp_replace(repeat('a', (16300 + x)::int) || 'NEEDLE' || repeat('b', 9000), 'NEEDLE', '')) = 16300 + x + 9000;
SELECT regexp_replace(repeat('a', 40000), 'a*', '') t, length(regexp_replace(repeat('ab', 20000), '(a)(c)?', '[$1$2]')) l;
SELECT length(regexp_replace(repeat('ab', 20000), '(?=b)', '|')) l, length(regexp_replace(repeat('ab', 20000), '$', '|')) e, length(regexp_replace(repeat('ab', 20000), '^', '|')) b;
