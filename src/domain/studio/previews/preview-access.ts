import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql';
import type { Permission } from '../../../kernel/actor.ts';
import { DomainError } from '../../../kernel/errors.ts';
import { KeyError, type Kms } from '../../../ports/kms.ts';
import { authenticateHolder, type IdentityServices } from '../../identity/authenticate.ts';
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

/** `link`: in the address that opens a preview; `cookie`: what it is exchanged for. */
type PassKind = 'link' | 'cookie';

/** Seconds each kind is good for. */
export const passSeconds: Record<PassKind, number> = { link: 60, cookie: 8 * 3600 };

/** What a pass is for: to see a site, or to edit its pages where they stand, too. */
export type PassUse = 'view' | 'edit';

/** Query parameter that carries a pass in a link. */
export const linkParameter = 'portico_preview';

/** Who may see what is behind one label. Signed, it travels through the browser. */
interface PreviewPass {
  /** The only label it opens. */
  label: string;
  /** Id of the credential it was made for (`holderOf`), whose rights are looked at again with every request. */
  holder: string;
  /** Milliseconds since 1970. */
  expires: number;
  /** Of a link: its own; of a cookie: that of the link it came from. */
  nonce: string;
  use: PassUse;
}

const macOf = (key: Buffer, kind: PassKind, body: string) =>
  createHmac('sha256', key).update(`${kind}\n${body}`).digest();

/** A pass as text that may stand in a URL and in a cookie. */
function signPass(key: Buffer, kind: PassKind, { label, holder, expires, nonce, use }: PreviewPass): string {
  const body = Buffer.from(JSON.stringify([label, holder, expires, nonce, use])).toString('base64url');
  return `${body}.${macOf(key, kind, body).toString('base64url')}`;
}

/** The pass in a text, which may have expired; null when it was not signed by us as this kind, or is for another label. */
function openPass(key: Buffer, kind: PassKind, text: string, label: string): PreviewPass | null {
  const [body = '', mac = '', ...rest] = text.split('.');
  const [given, expected] = [Buffer.from(mac, 'base64url'), macOf(key, kind, body)];
  if (rest.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  const fields = JSON.parse(Buffer.from(body, 'base64url').toString()) as [string, string, number, string?, PassUse?];
  const [of, holder, expires, nonce, use = 'view'] = fields;
  // One without a nonce, or a use, was signed by a version before this one.
  return of === label && nonce !== undefined ? { label, holder, expires, nonce, use } : null;
}

/** Milliseconds in which the browser that opened a link may open it again: a reload, or a redirect that was cut off. */
const reloadTime = 10_000;

/** Of what a pass opens, what decides who may see it. */
export interface Guarded {
  label: string;
  organization_id: number;
  project_id: number;
  /** The permission a viewer needs. */
  permission: Permission;
}

/**
 * What becomes of a link: a cookie it is exchanged for, `spent` when it has been opened before, null when it is none, has expired, or was made
 * for an actor who may not read the target any more.
 */
type LinkOutcome = { cookie: string } | 'spent' | null;

/** Passes to what only members see. */
export class PreviewAccess {
  readonly #services: () => IdentityServices;
  readonly #key: PreviewKey;

  constructor(services: () => IdentityServices, key: PreviewKey) {
    this.#services = services;
    this.#key = key;
  }

  /** Whether a pass can be made for an actor: its rights are read again with every request, so they must be found again. */
  async canHold(holder: string, em: EntityManager): Promise<boolean> {
    return (await authenticateHolder(this.#services(), holder, em)) !== null;
  }

  /** Signs a link to what is behind a label for an actor: good for a minute, and for one navigation. */
  makeLink(label: string, holder: string, use: PassUse): Promise<string> {
    return this.#sign('link', { label, holder, nonce: randomBytes(16).toString('base64url'), use });
  }

  /** What the cookie of a request opens a target for; null when it does not. A holder who may no longer edit still sees it. */
  async useOf(text: string, target: Guarded): Promise<PassUse | null> {
    const pass = openPass(await this.#key.get(), 'cookie', text, target.label);
    if (pass === null || pass.expires <= this.#now().getTime()) return null;
    const permissions = await this.#permissionsOf(pass, target);
    if (!permissions?.has(target.permission)) return null;
    return pass.use === 'edit' && permissions.has('edit_studio') ? 'edit' : 'view';
  }

  /**
   * Exchanges a link for a cookie, once. The row that says so decides for all servers of a database, and outlives their restarts.
   * @param given the cookie that came with the link: the browser that has opened it may do so again within ten seconds
   */
  async spendLink(text: string, target: Guarded, given: string | null): Promise<LinkOutcome> {
    const key = await this.#key.get();
    const pass = openPass(key, 'link', text, target.label);
    if (pass === null) return null;
    const now = this.#now();
    const em = this.#services().orm.em.fork();
    const permissions = pass.expires > now.getTime() ? await this.#permissionsOf(pass, target) : null;
    const isAlive = permissions?.has(target.permission) ?? false;
    const made = isAlive
      ? await em.execute(
          `insert into spent_preview_link (nonce, spent_at) values (?, ?) on conflict (nonce) do nothing returning nonce`,
          [pass.nonce, now],
        )
      : [];
    if (made.length === 0) {
      const [row] = await em.execute<{ spent_at: string }[]>(
        'select spent_at from spent_preview_link where nonce = ?',
        [pass.nonce],
      );
      if (!row) return null;
      const isSameBrowser = given !== null && openPass(key, 'cookie', given, target.label)?.nonce === pass.nonce;
      const isReload = isAlive && isSameBrowser && now.getTime() - new Date(row.spent_at).getTime() <= reloadTime;
      if (!isReload) return 'spent';
    }
    return { cookie: await this.#sign('cookie', pass) };
  }

  #now(): Date {
    return this.#services().clock.now();
  }

  async #sign(kind: PassKind, pass: Omit<PreviewPass, 'expires'>): Promise<string> {
    const expires = this.#now().getTime() + passSeconds[kind] * 1000;
    return signPass(await this.#key.get(), kind, { ...pass, expires });
  }

  /** What the actor a pass was made for may still do where its label leads to; null: nothing. */
  async #permissionsOf({ holder }: PreviewPass, target: Guarded): Promise<ReadonlySet<Permission> | null> {
    const grant = (await authenticateHolder(this.#services(), holder))?.grantFor(target.organization_id);
    const isInside = grant && (grant.projects === null || grant.projects.has(target.project_id));
    return isInside ? grant.permissions : null;
  }
}
