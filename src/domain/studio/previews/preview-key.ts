import { randomBytes } from 'node:crypto';
import type { MikroORM } from '@mikro-orm/postgresql';
import { DomainError } from '../../errors.ts';
import { KeyError, type Kms } from '../../ports/kms.ts';
import { Setting } from '../../setting.entity.ts';

const name = 'preview_key';
const context = 'preview-key|1';

interface WrappedSetting {
  kek_id: string;
  /** Base64. */
  blob: string;
}

/**
 * The key that passes to members' previews are signed with: one for the instance, wrapped like a data key and kept among the settings. One
 * that cannot be opened any more is replaced: all it costs is that open previews are opened again.
 */
export class PreviewKey {
  readonly #orm: MikroORM;
  readonly #kms: Kms;
  #key: Promise<Buffer> | null = null;

  constructor(orm: MikroORM, kms: Kms) {
    this.#orm = orm;
    this.#kms = kms;
  }

  /** @throws DomainError `unavailable` when the key service does not answer */
  get(): Promise<Buffer> {
    if (this.#key === null) {
      const key = this.#load().catch(asUnavailable);
      this.#key = key;
      key.catch(() => {
        this.#key = null;
      });
    }
    return this.#key;
  }

  async #load(): Promise<Buffer> {
    const em = this.#orm.em.fork();
    const stored = (await em.findOne(Setting, { name }))?.value as WrappedSetting | undefined;
    const key = stored && (await this.#open(stored));
    if (key) return key;
    const { blob, kek_id } = await this.#kms.wrap(randomBytes(32), context);
    const value: WrappedSetting = { kek_id, blob: Buffer.from(blob).toString('base64') };
    // Of several processes that find none, or the same unreadable one, the first wins and all take its key.
    const text = JSON.stringify(value);
    if (stored) {
      const old = JSON.stringify(stored.blob);
      await em.execute(`update setting set value = ? where name = ? and value->'blob' = ?::jsonb`, [text, name, old]);
    } else {
      await em.execute('insert into setting (name, value) values (?, ?) on conflict (name) do nothing', [name, text]);
    }
    em.clear();
    const winner = (await em.findOneOrFail(Setting, { name })).value as WrappedSetting;
    return Buffer.from(await this.#kms.unwrap(Buffer.from(winner.blob, 'base64'), context));
  }

  async #open({ blob }: WrappedSetting): Promise<Buffer | null> {
    try {
      return Buffer.from(await this.#kms.unwrap(Buffer.from(blob, 'base64'), context));
    } catch (cause) {
      if (!(cause instanceof KeyError) || cause.fault === 'unavailable') throw cause;
      return null;
    }
  }
}

function asUnavailable(cause: unknown): never {
  if (!(cause instanceof KeyError)) throw cause;
  throw new DomainError('unavailable', 'The key service does not answer; try again later', { cause });
}
