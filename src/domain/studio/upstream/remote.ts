import { randomBytes } from 'node:crypto';
import { LockMode } from '@mikro-orm/core';
import type { z } from 'zod';
import { fieldError } from '../../../kernel/errors.ts';
import type { Services } from '../../../kernel/services.ts';
import type { Upstream as Remote, UpstreamAuth } from '../../../ports/git-transfer.ts';
import { grantsChanged } from '../../identity/grant-cache.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import { holdProject } from '../../projects/project-ref.ts';
import type { StudioContext } from '../studio.ts';
import { Upstream, UpstreamBranch } from './upstream.entity.ts';
import type { remoteDraft } from './upstream.schema.ts';

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

/** @throws DomainError `invalid_request` when the credentials are not of the address's kind */
export function checkAuthKind(url: string, auth: UpstreamAuth): void {
  const isSsh = new URL(url).protocol === 'ssh:';
  if (isSsh === (auth.kind === 'ssh_key')) return;
  throw fieldError(
    'invalid_request',
    'auth.kind',
    isSsh ? 'must be ssh_key for an ssh address' : 'ssh_key needs an ssh address',
  );
}

type Draft = z.output<typeof remoteDraft>;

/**
 * Writes down where a project's upstream is, in the caller's transaction; what was known of another one is forgotten. Of two who do so at once
 * one comes after the other: the credentials of one must never go to the address of the other.
 */
export async function storeUpstream(
  { em, services, project, organization }: Pick<StudioContext, 'em' | 'services' | 'project' | 'organization'>,
  { url, auth, push, new_hook_secret }: Draft,
): Promise<{ hook_secret: string | null }> {
  const owner = { id: project.id, organization_id: organization.id };
  const now = services.clock.now();
  await holdProject(em, project.id);
  // The row comes before its branches, as for a pass that keeps what it found.
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const known = await em.findOne(Upstream, { project_id: project.id }, { refresh: true, lockMode });
  const version = (known?.version ?? 0) + 1;
  const hook_secret = !known || new_hook_secret ? randomBytes(32).toString('base64url') : null;
  if (known && known.url !== url) await em.nativeDelete(UpstreamBranch, { project_id: project.id });
  const row = known ?? em.create(Upstream, { project_id: project.id, created_at: now } as Upstream);
  em.assign(row, {
    url,
    auth_kind: auth.kind,
    credentials: await sealAuth(services, owner, 'auth', version, auth),
    ...(hook_secret !== null && { hook_secret: await sealHookSecret(services, owner, hook_secret) }),
    version,
    push,
    fetch_error: null,
    ...(known?.url !== url && { fetched_at: null }),
    updated_at: now,
  });
  await em.persist(row).flush();
  await grantsChanged(em, organization.id);
  return { hook_secret };
}
