import { randomUUID } from 'node:crypto';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { permissionNames, systemActor } from '../../src/kernel/actor.ts';
import type { AnyOperation } from '../../src/kernel/operation.ts';
import { run } from '../../src/kernel/run.ts';
import type { Services } from '../../src/kernel/services.ts';

/**
 * Makes a project, on services without a server.
 * @returns how to call its operations, as an actor with all permissions
 */
export async function makeProject(services: Services) {
  const actor = systemActor('bench', permissionNames, 'localhost', true);
  const { signal } = new AbortController();
  const call = (operation: AnyOperation, input: object): Promise<unknown> =>
    run(
      operation,
      { services, actor, conditions: {}, request_id: randomUUID(), address: null, facts: {}, signal },
      input,
    );
  await call(createOrganization, { name: 'Bench', machine_name: 'bench' });
  await call(createProject, { organization: 'bench', name: 'Site', machine_name: 'site' });
  return (operation: AnyOperation, input: object) =>
    call(operation, { organization: 'bench', project: 'site', ...input });
}
