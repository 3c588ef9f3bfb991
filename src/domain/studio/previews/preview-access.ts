import { authenticateHolder } from '../../identity/authenticate.ts';
import type { Services } from '../../services.ts';
import { openPass, type PassKind, passSeconds, signPass } from './preview-pass.ts';
import type { PreviewTarget } from './preview-targets.ts';

/** Signs a pass to what is behind a label for an actor, good from now on for as long as its kind lasts. */
export async function makePass(services: Services, kind: PassKind, label: string, holder: string): Promise<string> {
  const expires = services.clock.now().getTime() + passSeconds[kind] * 1000;
  return signPass(await services.previews.key.get(), kind, { label, holder, expires });
}

/**
 * Who a pass was made for, if it is for this target and they may still read its project.
 * @returns the actor's id, or null
 */
export async function passHolder(
  services: Services,
  kind: PassKind,
  text: string,
  { label, organization_id, project_id, permission }: PreviewTarget,
): Promise<string | null> {
  const pass = openPass(await services.previews.key.get(), kind, text, label, services.clock.now());
  if (pass === null) return null;
  const grant = (await authenticateHolder(services, pass.holder))?.grantFor(organization_id);
  if (!grant?.permissions.has(permission)) return null;
  return grant.projects === null || grant.projects.has(project_id) ? pass.holder : null;
}
