BEGIN TRANSACTION;
CREATE TABLE dead_letters (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	identity VARCHAR(64) NOT NULL, 
	id VARCHAR(128), 
	generation INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	digest TEXT, 
	channel TEXT, 
	priority TEXT, 
	recipient TEXT, 
	provider TEXT, 
	reason TEXT NOT NULL, 
	detail TEXT NOT NULL, 
	notification TEXT, 
	attempts TEXT NOT NULL, 
	labels TEXT NOT NULL, 
	headers TEXT NOT NULL, 
	raw BLOB, 
	trace TEXT, 
	first_queued BIGINT, 
	dead_at BIGINT NOT NULL, 
	archived_at BIGINT NOT NULL, 
	count INTEGER NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	UNIQUE (identity)
);
INSERT INTO "dead_letters" VALUES(1,'227555e3d35ea980237a1e5af25619f67fed0a2f69afc5eb7488260b4ab5bc1b','file-2f:17',1,1,'69d397031005b178770fc350488639dd','sms','normal','+4915112345678','two','recipient_refused','550 no such user','{"v":1,"channel":"sms","recipient":"+4915112345678","id":"file-2f:17","priority":"normal","body":"\u041f\u0440\u0438\u0432\u0435\u0442 \ud83c\udf89","labels":{"team":"ops"},"created_at":"2026-03-01T12:00:00.123456+00:00"}','[{"generation":1,"attempt":1,"at":"2026-03-01T12:00:00.123456+00:00","provider":"acme","outcome":"permanent","reason":"recipient_refused","detail":"","code":"550","ms":12},{"generation":1,"attempt":1,"at":"2026-03-01T12:00:00.123456+00:00","provider":"two","outcome":"permanent","reason":"recipient_refused","detail":"","code":"451","ms":12}]','{"team":"Ops","quote":"a\"b"}','{}',NULL,NULL,1772366400123456,1772366400123456,1796093604888381,1,'replayed');
INSERT INTO "dead_letters" VALUES(2,'6857c080e80bb4d743228dea9bbd7874514344e1a5abdf7236738144c46fb432','schedule:stand-up:20270301T090000Z',1,1,'69d397031005b178770fc350488639dd','email','normal','Ada@Example.com','acme','recipient_refused','550 no such user','{"v":1,"channel":"sms","recipient":"+4915112345678","id":"x","priority":"normal","body":"\u041f\u0440\u0438\u0432\u0435\u0442 \ud83c\udf89","template":"welcome","created_at":"2026-03-01T12:00:00.123456+00:00"}','[{"generation":1,"attempt":1,"at":"2026-03-01T12:00:00.123456+00:00","provider":"acme","outcome":"permanent","reason":"recipient_refused","detail":"","code":"550","ms":12}]','{}','{}',NULL,NULL,1772366400123456,1772366400123456,1796093604888381,1,'open');
INSERT INTO "dead_letters" VALUES(3,'01dcf2e5f2887fe6db1dded7c33747770865da012ea742d09929e9c1997403ae',NULL,1,1,'069cf2054f0881a36dc64bc989a5ee83',NULL,NULL,NULL,NULL,'unparseable','is not a notification',NULL,'[]','{}','{}',X'FF006A756E6B',NULL,NULL,1772366400123456,1796093604888381,1,'open');
CREATE TABLE meta (
	name VARCHAR(64) NOT NULL, 
	value BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "meta" VALUES('schema',1);
CREATE TABLE replays (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	dead_seq INTEGER NOT NULL, 
	at BIGINT NOT NULL, 
	actor TEXT NOT NULL, 
	from_generation INTEGER NOT NULL, 
	new_generation INTEGER NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	note TEXT NOT NULL, 
	FOREIGN KEY(dead_seq) REFERENCES dead_letters (seq)
);
INSERT INTO "replays" VALUES(1,1,1772366400123456,'ann',1,2,'published','');
CREATE INDEX dead_letters_reason ON dead_letters (reason, dead_at);
CREATE INDEX dead_letters_recipient ON dead_letters (recipient);
CREATE INDEX dead_letters_channel ON dead_letters (channel, dead_at);
CREATE INDEX dead_letters_dead_at ON dead_letters (dead_at);
CREATE INDEX dead_letters_id ON dead_letters (id);
CREATE INDEX replays_dead_seq ON replays (dead_seq);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('dead_letters',3);
INSERT INTO "sqlite_sequence" VALUES('replays',1);
COMMIT;
