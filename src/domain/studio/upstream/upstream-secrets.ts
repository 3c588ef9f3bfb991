import type { Upstream as Remote, UpstreamAuth } from '../../ports/git-transfer.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import type { Services } from '../../services.ts';
import type { Upstream } from './upstream.entity.ts';

type Owner = Pick<ProjectRef, 'id' | 'organization_id'>;
type Part = 'auth' | 'hook' | 'import';

const seal = ({ secrets }: Services, { id, organization_id }: Owner, part: Part, version: number, text: string) =>
  secrets.encrypt(organization_id, 'upstream.git', `${id}:${part}`, version, text);

const open = ({ secrets }: Services, { id, organization_id }: Owner, part: Part, version: number, sealed: string) =>
  secrets.decrypt(organization_id, 'upstream.git', `${id}:${part}`, version, sealed);

/** Credentials as they are stored; null for none. */
export async function sealAuth(
  services: Services,
  owner: Owner,
  part: 'auth' | 'import',
  version: number,
  auth: UpstreamAuth,
): Promise<string | null> {
  return auth.kind === 'none' ? null : seal(services, owner, part, version, JSON.stringify(auth));
}

/** @throws DomainError `unavailable` when they cannot be read */
export async function openAuth(
  services: Services,
  owner: Owner,
  part: 'auth' | 'import',
  version: number,
  sealed: string | null | undefined,
): Promise<UpstreamAuth> {
  return sealed == null ? { kind: 'none' } : JSON.parse(await open(services, owner, part, version, sealed));
}

/** The upstream as the git engine takes it. */
export async function openUpstream(services: Services, owner: Owner, row: Upstream): Promise<Remote> {
  return { url: row.url, auth: await openAuth(services, owner, 'auth', row.version, row.credentials) };
}

/** What push notices are signed with, sealed. It stays the same through all versions of the credentials. */
export const sealHookSecret = (services: Services, owner: Owner, secret: string) =>
  seal(services, owner, 'hook', 1, secret);

/** @throws DomainError `unavailable` when it cannot be read */
export const openHookSecret = (services: Services, owner: Owner, row: Upstream) =>
  open(services, owner, 'hook', 1, row.hook_secret);
