import { createHash } from 'node:crypto';

export type PostgresSettings = Readonly<Record<string, string>>;

/** Settings for one small server; everything else is PostgreSQL's default. `durable: false` is for tests alone. */
export function serverSettings(clusterDir: string, durable: boolean): PostgresSettings {
  return {
    listen_addresses: '',
    unix_socket_permissions: '0700',
    cluster_name: clusterName(clusterDir),
    max_connections: '100',
    shared_buffers: '128MB',
    max_wal_size: '256MB',
    jit: 'off',
    // Workers exchange rows through /dev/shm, of which a container has 64 MB; no query here is worth them.
    max_parallel_workers_per_gather: '0',
    // Reads of a small database are in memory: no processes of their own for them, nor for replication, which is not set up.
    io_method: 'sync',
    max_logical_replication_workers: '0',
    timezone: 'UTC',
    log_timezone: 'UTC',
    lc_messages: 'C',
    log_checkpoints: 'off',
    // Test files that start and kill servers share one database server, and connections of the killed linger.
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' }),
  };
}

/** Unique to the directory; by it the processes of a cluster are found. */
export function clusterName(clusterDir: string): string {
  return `portico-${createHash('sha256').update(clusterDir).digest('hex').slice(0, 12)}`;
}

/** The environment of initdb and postgres: nothing of ours, above all no PGDATA, PGOPTIONS or locale. */
export function programEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
}
