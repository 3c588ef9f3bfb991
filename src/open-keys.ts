import type { MikroORM } from '@mikro-orm/postgresql';
import type { Config } from './config.ts';
import { checkKeys } from './domain/keys/check-keys.ts';
import type { Kms } from './domain/ports/kms.ts';
import type { Log } from './domain/ports/log.ts';
import { openLocalKeyring } from './engines/kms/local-keyring.ts';
import { StartError } from './start-error.ts';

/** The provider of key-encryption keys that the settings name. */
export interface KeyProvider {
  kms: Kms;
  /** Makes another key the active one. @returns its id */
  rotate(): Promise<string>;
  close(): void;
}

async function openLocal(config: Config, log: Log): Promise<KeyProvider> {
  const kms = await openLocalKeyring({
    dataDirectory: config.PORTICO_DATA_DIR,
    ...(config.PORTICO_KEYRING_FILE !== undefined && { file: config.PORTICO_KEYRING_FILE }),
  });
  if (kms.created)
    log.info({ keyring: kms.path }, 'made a keyring; keep a copy: a database backup without it cannot be read');
  return { kms, rotate: () => kms.rotate(), close() {} };
}

/** Keys of AWS KMS are made and chosen there: to rotate is to move to the key that the setting names by now. */
async function openAws({ PORTICO_KMS_KEY: key, PORTICO_KMS_URL: url }: Config): Promise<KeyProvider> {
  if (key === undefined) throw new StartError('PORTICO_KMS=aws needs PORTICO_KMS_KEY: an id, ARN or alias of a key');
  // A client of its own size: whoever keeps keys in a file does not load it.
  const { openAwsKms } = await import('./engines/kms/aws-kms.ts');
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
  const lost = [...missing, ...unreadable.map((row) => row.kek_id)];
  if (lost.length === 0 || ['1', 'on'].includes(config.PORTICO_KMS_ALLOW_MISSING)) return;
  const { location } = await kms.describe();
  throw new StartError(
    `Stored secrets need keys that are not in ${location}: ${[...new Set(lost)].join(', ')}. Restore them, or set PORTICO_KMS_ALLOW_MISSING=1 to start without those secrets.`,
  );
}

/**
 * Opens the keys, and checks that those are there which the database names.
 * @throws StartError
 */
export async function openKeys(config: Config, orm: MikroORM, log: Log): Promise<KeyProvider> {
  const provider = await (config.PORTICO_KMS === 'aws' ? openAws(config) : openLocal(config, log));
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
