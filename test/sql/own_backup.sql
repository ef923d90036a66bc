-- CHECKPOINT holds one state of the files; its older words; what is wrong is said where
checkpoint create;
checkpoint release;
CHECKPOINT RELEASE;
snapshot prepare;
snapshot complete;
snapshot complete;
checkpoint;
checkpoint make;
checkpoint create now;
snapshot create;
backup;
backup tables;
backup database to;
backup database to nightly;
backup database 'nightly';
backup database;
backup table trades, trades to 'x';
