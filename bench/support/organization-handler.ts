/**
 * What a small service would do for the same request: a bare Express handler that looks up the token and the organisation with pg, each time.
 * Argument: the database's URL. Sends its parent the port.
 */
import { createHash } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import express from 'express';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.argv[2], max: 10 });
const app = express();

app.get('/api/v2/organizations/:organization', async (request, response) => {
  const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  const hash = createHash('sha256').update(token).digest('hex');
  const granted = await pool.query(
    'select organization_id, permissions, expires_at from token where hash = $1 and revoked_at is null',
    [hash],
  );
  const [grant] = granted.rows;
  if (!grant || (grant.expires_at && grant.expires_at < new Date())) {
    return void response.status(401).json({ message: 'Unauthenticated', error: true });
  }
  const found = await pool.query(
    'select id, name, machine_name, type, region, subscription, created_at, updated_at from organization where machine_name = $1',
    [request.params.organization],
  );
  const [row] = found.rows;
  if (!row) return void response.status(404).json({ message: 'Organisation not found', error: true });
  if (row.id !== grant.organization_id || !grant.permissions.includes('browse_organization')) {
    return void response.status(403).json({ message: 'Forbidden', error: true });
  }
  const { id: _id, ...organization } = row;
  response.json(Object.fromEntries(Object.entries(organization).filter(([, value]) => value !== null)));
});

const server = app.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit(0));
