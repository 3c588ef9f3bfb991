import { randomBytes } from 'node:crypto';
import { authenticateHolder } from '../../identity/authenticate.ts';
import type { Services } from '../../services.ts';
import { openPass, type PassKind, type PreviewPass, passSeconds, signPass } from './preview-pass.ts';
import type { PreviewTarget } from './preview-targets.ts';

/** Milliseconds in which the browser that opened a link may open it again: a reload, or a redirect that was cut off. */
const reloadTime = 10_000;

const sign = async ({ previews, clock }: Services, kind: PassKind, pass: Omit<PreviewPass, 'expires'>) =>
  signPass(await previews.key.get(), kind, { ...pass, expires: clock.now().getTime() + passSeconds[kind] * 1000 });

/** Signs a link to what is behind a label for an actor: good for a minute, and for one navigation. */
export const makeLink = (services: Services, label: string, holder: string): Promise<string> =>
  sign(services, 'link', { label, holder, nonce: randomBytes(16).toString('base64url') });

/** Whether the actor a pass was made for may still read what is behind its label. */
async function mayRead(services: Services, { holder }: PreviewPass, target: PreviewTarget): Promise<boolean> {
  const grant = (await authenticateHolder(services, holder))?.grantFor(target.organization_id);
  if (!grant?.permissions.has(target.permission)) return false;
  return grant.projects === null || grant.projects.has(target.project_id);
}

/** Whether the cookie of a request opens a target. */
export async function holdsCookie(services: Services, text: string, target: PreviewTarget): Promise<boolean> {
  const pass = openPass(await services.previews.key.get(), 'cookie', text, target.label);
  return pass !== null && pass.expires > services.clock.now().getTime() && mayRead(services, pass, target);
}

/**
 * What becomes of a link: a cookie it is exchanged for, `spent` when it has been opened before, null when it is none, has expired, or was made
 * for an actor who may not read the target any more.
 */
export type LinkOutcome = { cookie: string } | 'spent' | null;

/**
 * Exchanges a link for a cookie, once. The row that says so decides for all servers of a database, and outlives their restarts.
 * @param given the cookie that came with the link: the browser that has opened it may do so again within ten seconds
 */
export async function spendLink(
  services: Services,
  text: string,
  target: PreviewTarget,
  given: string | null,
): Promise<LinkOutcome> {
  const key = await services.previews.key.get();
  const pass = openPass(key, 'link', text, target.label);
  if (pass === null) return null;
  const now = services.clock.now();
  const em = services.orm.em.fork();
  const isAlive = pass.expires > now.getTime() && (await mayRead(services, pass, target));
  const made = isAlive
    ? await em.execute(
        `insert into spent_preview_link (nonce, spent_at) values (?, ?) on conflict (nonce) do nothing returning nonce`,
        [pass.nonce, now],
      )
    : [];
  if (made.length === 0) {
    const [row] = await em.execute<{ spent_at: string }[]>('select spent_at from spent_preview_link where nonce = ?', [
      pass.nonce,
    ]);
    if (!row) return null;
    const isSameBrowser = given !== null && openPass(key, 'cookie', given, target.label)?.nonce === pass.nonce;
    const isReload = isAlive && isSameBrowser && now.getTime() - new Date(row.spent_at).getTime() <= reloadTime;
    if (!isReload) return 'spent';
  }
  return { cookie: await sign(services, 'cookie', pass) };
}
