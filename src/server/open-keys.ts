import type { MikroORM } from '@mikro-orm/postgresql';
import { checkKeys, countByKek } from '../domain/keys/check-keys.ts';
import { KeyringMissing, openLocalKeyring } from '../engines/kms/local-keyring.ts';
import type { Kms } from '../ports/kms.ts';
import type { Log } from '../ports/log.ts';
import type { Config } from './config.ts';
import { StartError } from './start-error.ts';

/** The provider of key-encryption keys that the settings name. */
export interface KeyProvider {
  kms: Kms;
  /** Makes another key the active one. @returns its id */
  rotate(): Promise<string>;
  close(): void;
}

const startsWithout = (config: Config): boolean => ['1', 'on'].includes(config.PORTICO_KMS_ALLOW_MISSING);
const orWithout = 'or set PORTICO_KMS_ALLOW_MISSING=1 to start without those secrets.';

const missingKeys = (location: string, ids: readonly string[]): StartError =>
  new StartError(`Stored secrets need keys that are not in ${location}: ${ids.join(', ')}. Restore them, ${orWithout}`);

async function openLocal(config: Config, orm: MikroORM, log: Log): Promise<KeyProvider> {
  // Another keyring in the place of a lost one would look like the right one to whoever restores it.
  const needed = [...(await countByKek(orm.em.fork())).keys()];
  const kms = await openLocalKeyring({
    dataDirectory: config.PORTICO_DATA_DIR,
    ...(config.PORTICO_KEYRING_FILE !== undefined && { file: config.PORTICO_KEYRING_FILE }),
    mayCreate: needed.length === 0 || startsWithout(config),
  }).catch((error: unknown) => {
    if (error instanceof KeyringMissing && needed.length > 0) throw missingKeys(error.path, needed);
    throw error;
  });
  if (kms.created)
    log.info({ keyring: kms.path }, 'made a keyring; keep a copy: a database backup without it cannot be read');
  return { kms, rotate: () => kms.rotate(), close() {} };
}

/** Keys of AWS KMS are made and chosen there: to rotate is to move to the key that the setting names by now. */
async function openAws({ PORTICO_KMS_KEY: key, PORTICO_KMS_URL: url }: Config): Promise<KeyProvider> {
  if (key === undefined) throw new StartError('PORTICO_KMS=aws needs PORTICO_KMS_KEY: an id, ARN or alias of a key');
  // A client of its own size: whoever keeps keys in a file does not load it.
  const { openAwsKms } = await import('../engines/kms/aws-kms.ts');
  const kms = openAwsKms({ key, ...(url !== undefined && { url }) });
  const rotate = async () => {
    const active = (await kms.describe()).keys.find(({ state }) => state === 'active');
    if (active === undefined) throw new Error(`${key} is disabled`);
    return active.id;
  };
  return { kms, rotate, close: () => kms.close() };
}

/** A start without the keys of what is stored would lose it one refusal at a time. */
async function requireKeys({ kms }: KeyProvider, config: Config, orm: MikroORM): Promise<void> {
  const { missing, unreadable } = await checkKeys({ kms, em: orm.em });
  if (startsWithout(config)) return;
  const { location } = await kms.describe();
  const damaged = [...new Set(unreadable.map((row) => row.kek_id))].filter((id) => !missing.includes(id));
  if (missing.length > 0) throw missingKeys(location, missing);
  if (damaged.length > 0)
    throw new StartError(
      `Stored secrets do not open with ${damaged.join(', ')} of ${location}, which is damaged or belongs to another installation. Restore it from its backup, ${orWithout}`,
    );
}

/**
 * Opens the keys, and checks that those are there which the database names.
 * @throws StartError
 */
export async function openKeys(config: Config, orm: MikroORM, log: Log): Promise<KeyProvider> {
  const provider = await (config.PORTICO_KMS === 'aws' ? openAws(config) : openLocal(config, orm, log));
  try {
    await requireKeys(provider, config, orm);
    return provider;
  } catch (error) {
    provider.close();
    if (error instanceof StartError || config.PORTICO_KMS === 'local') throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(`The keys cannot be asked for (${reason}); see PORTICO_KMS_KEY`, { cause: error });
  }
}
