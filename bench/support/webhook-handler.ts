/**
 * What a small service would do for a signed call: a bare Express handler that checks the signature and inserts a row with pg, each time.
 * Arguments: the database's URL and the secret. Sends its parent the port.
 */
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import express from 'express';
import pg from 'pg';

const secret = process.argv[3] ?? '';
const pool = new pg.Pool({ connectionString: process.argv[2], max: 10 });
await pool.query(
  'create table if not exists bench_delivery (id uuid primary key, body bytea not null, at timestamptz not null)',
);
const app = express();

app.post('/hook', express.raw({ type: () => true, limit: '25mb' }), async (request, response) => {
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const [, digits = ''] = /^sha256=([0-9a-f]{64})$/.exec(request.get('x-hub-signature-256') ?? '') ?? [];
  const given = Buffer.from(digits, 'hex');
  const wanted = createHmac('sha256', secret).update(body).digest();
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted))
    return void response.status(401).json({ error: 'Unauthorized' });
  const id = randomUUID();
  await pool.query('insert into bench_delivery (id, body, at) values ($1, $2, now())', [id, body]);
  response.status(202).json({ executionId: id });
});

const server = app.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit(0));
