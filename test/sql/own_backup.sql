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
