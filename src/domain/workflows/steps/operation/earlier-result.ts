import { isDeepStrictEqual } from 'node:util';
import { systemActor } from '../../../identity/actor.ts';
import type { AnyOperation } from '../../../operation.ts';
import { run } from '../../../run.ts';
import { getEntry } from '../../../studio/entries/entries.operations.ts';
import { listPulls } from '../../../studio/pulls/pulls.operations.ts';
import { getBranch } from '../../../studio/repository/branches.operations.ts';
import type { StepCall } from '../step-call.ts';

type Input = Record<string, unknown>;
type Find = (call: StepCall, input: Input) => Promise<unknown>;

/** Reads what is there now, whatever the workflow itself may read: only what it has asked to make is handed on. */
function read(call: StepCall, operation: AnyOperation, input: Input): Promise<Input | null> {
  const { services, organization, project, signal } = call;
  const actor = systemActor('workflows', ['browse_studio'], services.settings.public_host);
  const place = { organization: organization.machine_name, project: project.machine_name };
  const asked = run(
    operation,
    { services, actor, conditions: {}, signal, request_id: call.execution_id, address: null, facts: {} },
    { ...place, ...input },
  );
  return asked.then((found) => found as Input).catch(() => null);
}

const isPart = (wanted: unknown, there: unknown): boolean =>
  typeof wanted === 'object' && wanted !== null && !Array.isArray(wanted) && typeof there === 'object' && there !== null
    ? Object.entries(wanted).every(([key, value]) => isPart(value, Reflect.get(there, key)))
    : isDeepStrictEqual(wanted, there);

/** How to find what an earlier call of an operation has made outside the database: by its name, and by what it was to hold. */
const finds: Record<string, Find> = {
  'studio.createBranch': (call, { name }) => read(call, getBranch, { name }),
  'studio.createEntry': async (call, { collection, slug, branch, frontmatter = {}, body = '' }) => {
    const found = await read(call, getEntry, { collection, entry: slug, ...(branch !== undefined && { branch }) });
    const isSame =
      found !== null && isPart(frontmatter, found.frontmatter) && String(found.body).trim() === String(body).trim();
    return isSame ? found : null;
  },
  'studio.createPull': async (call, { head, base }) => {
    const found = await read(call, listPulls, { head, base, state: 'open' });
    return (found?.items as unknown[] | undefined)?.[0] ?? null;
  },
};

/**
 * What an operation has made in an earlier try whose answer was lost, found when it is refused because it is there already. A deletion that
 * finds nothing any more has been done.
 * @returns null when it was somebody else's, or cannot be told
 */
export async function earlierResult(
  call: StepCall,
  operation: AnyOperation,
  input: Input,
  refusal: string,
): Promise<{ result: unknown } | null> {
  const isDeletion = operation.name.includes('.delete');
  if (isDeletion) return refusal === 'not_found' ? { result: null } : null;
  const conflicts = ['already_exists', 'name_collision', 'nothing_to_merge'];
  const found = conflicts.includes(refusal) ? await finds[operation.name]?.(call, input) : null;
  return found ? { result: found } : null;
}
