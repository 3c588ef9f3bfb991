import { type EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import { mapperOptions } from '../../mikro-orm.config.ts';
import { DataKey } from '../domain/keys/data-key.entity.ts';
import { Setting } from '../domain/setting.entity.ts';
import { adaptPool } from './mapper-patches.ts';
import type { StallWatch } from './stall-watch.ts';

interface OrmOptions {
  /** Everything that has rows, when nothing else is said. */
  entities?: EntitySchema[];
  /** Under one name, a mapper takes part in the transactions of another. */
  contextName?: string;
  /** Gives up what waits for a database that hangs; without it that waits as long. */
  watch?: StallWatch;
}

/** Opens the object mapper on a database; `pool` is the most connections it takes. */
export function openOrm(url: string, pool: number, { watch, ...options }: OrmOptions = {}): MikroORM {
  const onPoolCreated = (created: Pool) => {
    adaptPool(created);
    watch?.watch(created);
  };
  return new MikroORM({
    ...mapperOptions,
    ...options,
    clientUrl: url,
    pool: { min: 0, max: pool },
    driverOptions: { ...mapperOptions.driverOptions, onPoolCreated },
  });
}

/**
 * Opens what looks after wrapped keys. Secrets are sealed and opened within transactions, and keys outlive transactions that are rolled back: with a
 * connection of its own, a key never waits for one that belongs to a transaction which waits for the key.
 */
export const openKeyOrm = (url: string, watch: StallWatch): MikroORM =>
  openOrm(url, 1, { entities: [DataKey, Setting], contextName: 'keys', watch });
