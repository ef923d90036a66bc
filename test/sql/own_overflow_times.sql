-- an INT that may exceed its type, on its way into a time: computed in 64 bits
select dateadd('s', x::int * 2147483647, 0::timestamp) a, dateadd('s', x::int * 2147483647, 0::timestamp_ns) b, dateadd('s', x::int * 2147483647, 0::date) c from long_sequence(3);
select dateadd('s', x::int * 2147483647, 0::timestamp, 'Europe/Berlin') a, 0::timestamp + x::int * 2147483647 b, 0::date - x::int * 2147483647 c from long_sequence(2);
select x from long_sequence(3) where dateadd('s', x::int * 2147483647, 0::timestamp) > '2100';
select max(dateadd('s', x::int * 2147483647, 0::timestamp)) a, count(dateadd('s', x::int * 2147483647, 0::timestamp)) n from long_sequence(3);
-- what is asked for itself stays an INT
select (x::int * 2147483647) is null a, coalesce(x::int * 2147483647, 7) b, typeof(abs(x::int * 2147483647)) c from long_sequence(2);
