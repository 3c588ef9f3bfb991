import { beforeAll, describe, expect, it } from 'vitest';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { DomainError } from '../../src/kernel/errors.ts';
import type { AnyOperation } from '../../src/kernel/operation.ts';
import { run } from '../../src/kernel/run.ts';
import { systemCall } from '../../src/server/first-run.ts';
import { shared, startTestApp } from '../support/app.ts';
import { actorOf, callers, exportedOperations, furtherRefusals, refusalOf } from '../support/rights.ts';

const operations = await exportedOperations();
const signature = operations.filter(({ name }) => name === 'studio.noticePush');

/** What operations of an organisation are for a grant that is confined to projects, as the specification has it. */
const confined: Record<string, 'refused' | 'own_projects'> = {
  'assistant.getModel': 'refused',
  'assistant.updateModel': 'refused',
  'audit.listAudit': 'refused',
  'backups.restoreBackup': 'refused',
  'identity.createToken': 'own_projects',
  'identity.listTokens': 'own_projects',
  'identity.revokeToken': 'own_projects',
  'organizations.deleteOrganization': 'refused',
  'organizations.getOrganization': 'own_projects',
  'organizations.inviteMember': 'refused',
  'organizations.listMembers': 'refused',
  'organizations.locateOrganization': 'own_projects',
  'organizations.removeMember': 'refused',
  'organizations.updateMember': 'refused',
  'organizations.updateOrganization': 'refused',
  'projects.createProject': 'refused',
  'projects.listProjects': 'own_projects',
  'projects.restoreProject': 'own_projects',
};

const app = shared(startTestApp);
/** Each operation has a project of its own: some delete what they are given. */
const projects = new Map<AnyOperation, { name: string; id: number }>();
let organization: number;

beforeAll(async () => {
  for (const [at, operation] of operations.entries()) {
    const input = { organization: 'acme', name: `P ${at}`, machine_name: `p${at}` };
    const { id } = (await app.run(createProject, input)) as { id: number };
    projects.set(operation, { name: input.machine_name, id });
  }
  const [row] = await app.services.orm.em.fork().execute(`select id from organization where machine_name = 'acme'`);
  organization = (row as { id: number }).id;
});

/** Runs an operation with nothing but its place as input. @returns the refusal, if it was one */
async function attempt(operation: AnyOperation, by: (typeof callers)[number]): Promise<DomainError | null> {
  const project = projects.get(operation) ?? { name: '', id: 0 };
  const actor = by && actorOf(by, { organization, project: project.id });
  const call = { ...systemCall(app.services, actor as never), actor };
  try {
    await run(operation, call, { organization: 'acme', project: project.name });
    return null;
  } catch (error) {
    if (error instanceof DomainError) return error;
    // Without an input some have nothing to read; whether they may is decided before.
    return null;
  }
}

describe.each(operations.map((operation) => ({ operation, name: operation.name })))('$name', ({ operation }) => {
  it('is open to exactly the callers its declaration names', async () => {
    // Those who are let in come last: they may end what the operation is about.
    const inOrder = [...callers].sort(
      (one, other) => Number(refusalOf(operation, one) === null) - Number(refusalOf(operation, other) === null),
    );
    for (const by of inOrder) {
      const title = by?.title ?? 'no credential';
      const wanted = refusalOf(operation, by);
      const refusal = await attempt(operation, by);
      if (wanted !== null) expect(refusal?.code, title).toBe(wanted);
      else if (refusal?.code === 'forbidden') expect(furtherRefusals(operation), title).toContain(refusal.message);
      else if (!signature.includes(operation)) expect(refusal?.code, title).not.toBe('unauthenticated');
    }
  });
});

describe('an operation of an organisation', () => {
  it('says what it is for a grant that is confined to projects', () => {
    const declared = operations.filter(({ scope }) => scope === 'organization');
    expect(Object.fromEntries(declared.map((operation) => [operation.name, operation.confined]))).toEqual(confined);
    for (const operation of operations.filter(({ scope }) => scope !== 'organization'))
      expect(operation.confined, operation.name).toBeUndefined();
  });

  it('says in its refusal why it is refused and what is needed', async () => {
    const by = callers.find((each) => each?.permissions.length !== 1 && each?.projects === 'here') ?? null;
    for (const operation of operations.filter(
      ({ name, permission }) =>
        confined[name] === 'refused' && permission !== 'instance_admin' && permission !== 'owner',
    )) {
      expect((await attempt(operation, by))?.message).toBe(
        `This credential is confined to projects; ${operation.name} is about the whole organisation and needs a credential for all of its projects`,
      );
    }
  });

  it('leaves an audit row when it is refused', async () => {
    const rows = (await app.services.orm.em
      .fork()
      .execute(
        `select distinct action from audit where outcome = 'denied' and action in ('projects.createProject', 'organizations.updateOrganization') order by action`,
      )) as { action: string }[];
    expect(rows.map((row) => row.action)).toEqual(['organizations.updateOrganization', 'projects.createProject']);
  });
});
