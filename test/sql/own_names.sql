-- Names of result columns where ours differ from the reference's on purpose.
-- current_user() and current_user are one column name for clients (the reference keeps the brackets).
SELECT current_user();
SELECT current_user;
SELECT pg_catalog.current_database();
SELECT current_user(), current_user() AS me;
