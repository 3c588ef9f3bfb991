import { hash } from 'node:crypto';
import { z } from 'zod';
import { type Tool, type ToolInput, tools } from '../domain/assistant/tools.ts';
import { catalogue } from '../domain/catalogue.ts';
import type { Resolution } from '../domain/studio/merge/merge.schema.ts';
import { takesAway } from '../domain/studio/merge/resolutions.ts';
import { isForSteps } from '../domain/workflows/step-operations.ts';
import { isGrantable } from '../kernel/actor.ts';
import type { AnyOperation } from '../kernel/operation.ts';
import { isRecord } from '../lib/objects.ts';

/** What steps of workflows cannot call but a person's client can: they would change what they are steps of. */
const alsoOffered = new Set([
  'workflows.createWorkflow',
  'workflows.updateWorkflow',
  'workflows.publishVersion',
  'workflows.deleteWorkflow',
  'workflows.createTrigger',
  'workflows.updateTrigger',
  'workflows.deleteTrigger',
  'workflows.redeliver',
  'studio.revertMedia',
  'studio.listReferences',
  'studio.listReferrers',
  'studio.listReferrersOfEntries',
  'studio.findEntryByUrl',
  'studio.listRoutePatterns',
]);

/** What no tool gives: secrets, links that are good for one use, files, and lists that one of the 24 gives. */
const kept = new Set([
  'crawlers.revealWebhookSecret',
  'crawlers.rotateWebhookSecret',
  'crawlers.exportWarc',
  'studio.getDeploymentEditor',
  'studio.getDeploymentPreview',
  'studio.getEnvironmentPreview',
  'studio.listEntries',
]);

/**
 * What changes the public site without naming a branch: it is deployed, another branch or deployment becomes what is published, a branch loses its
 * protection, contents come from elsewhere, a crawler runs, now or later, whose copy is published when it is sound, or a workflow, which may commit
 * wherever its author may, is saved or started.
 */
const publishing = new Set([
  'studio.startDeployment',
  'studio.rerunDeployment',
  'studio.createEnvironment',
  'studio.updateEnvironment',
  'studio.deleteEnvironment',
  'studio.updateRepository',
  'studio.importRepository',
  'studio.setRemote',
  'projects.deleteProject',
  'crawlers.publishSnapshot',
  'crawlers.runCrawler',
  'crawlers.updateCrawler',
  'crawlers.createSchedule',
  'crawlers.updateSchedule',
  'workflows.createWorkflow',
  'workflows.updateWorkflow',
  'workflows.publishVersion',
  'workflows.runWorkflow',
  'workflows.enableWorkflow',
  'workflows.createTrigger',
  'workflows.updateTrigger',
  'workflows.redeliver',
  'workflows.retryExecution',
  'workflows.resumeExecution',
  'workflows.retryDeadLetters',
]);

/** `crawlers.runCrawler` as tools are named. */
const toolName = (operation: string) =>
  operation.replace('.', '_').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** What of a call names the thing it is about: numbers, names and paths, not contents. */
function subjectOf(input: ToolInput, { organization, project }: { organization: string; project: string }): string {
  const place = { project: `${organization}/${project}` };
  const named = Object.entries({ ...input, ...place }).filter(
    ([, value]) => typeof value !== 'object' && String(value).length <= 200,
  );
  return named.map(([name, value]) => `${name} ${value}`).join(', ');
}

/**
 * What a command deletes that deletes for some inputs only, as its permissions say: names, as far as its input has them; null: nothing. One that
 * takes neither actions nor resolutions deletes by what it finds: a revert of what has made a file.
 */
function deletionsIn(shape: object, input: ToolInput): string[] | null {
  const parts = ['actions', 'resolutions'].filter((name) => name in shape).map((name) => input[name]);
  if (parts.length === 0) return [];
  const deleting = parts
    .flat()
    .filter(isRecord)
    .filter(
      (part) => /^delete/.test(String(part.op)) || takesAway(part as Pick<Resolution, 'take' | 'delete' | 'stages'>),
    );
  return deleting.length === 0
    ? null
    : deleting.map(({ collection, slug, path }) => String(path ?? `${collection}/${slug}`));
}

/** Characters of names in a phrase, which a client repeats. */
const mostNamed = 1_000;

/** Names in a phrase; of many the first, and what stands for exactly all of them. */
function namedIn(names: readonly string[]): string {
  const all = names.join(', ');
  if (all.length <= mostNamed) return all;
  return `${all.slice(0, mostNamed)}… (${names.length} in all, ${hash('sha256', all, 'hex').slice(0, 16)})`;
}

function toolOf(operation: AnyOperation): Tool {
  const { name, kind, summary, also, irreversible, permission } = operation;
  const input = operation.input as z.ZodObject;
  const takesAway = irreversible === true || permission.startsWith('delete_');
  const mayDelete = also?.delete_studio !== undefined;
  const writes = kind === 'command' && 'branch' in input.shape && !publishing.has(name);
  const needs = Object.entries(also ?? {}).map(([further, when]) => ` Needs ${further} ${when}.`);
  return {
    name: toolName(name),
    title: summary,
    description: `${summary}.${needs.join('')}${takesAway ? ' Waits for consent.' : ''}${mayDelete ? ' Waits for consent where it deletes.' : ''}`,
    operation,
    inputs: writes ? input.extend({ branch: z.string().describe('Branch to write to') }) : input,
    result: operation.output instanceof z.ZodObject ? operation.output : z.object({ value: operation.output }),
    ...(writes && { target: 'branch' as const }),
    ...(publishing.has(name) && { publishes: true as const }),
    ...((takesAway || mayDelete) && {
      async consent(_read, given, place) {
        const deletions = takesAway ? [] : deletionsIn(input.shape, given);
        if (deletions === null) return undefined;
        const deleted = deletions.length > 0 ? `delete ${namedIn(deletions)}, ` : '';
        return { phrase: `${summary}: ${deleted}${subjectOf(given, place)}` };
      },
    }),
  };
}

let made: ReadonlyMap<string, Tool> | undefined;

/** Tools of the other operations of a project, by name: for tokens with `all_operations`. */
export function otherTools(): ReadonlyMap<string, Tool> {
  if (made) return made;
  const taken = new Set(tools.map(({ operation }) => operation.name));
  const offered = catalogue.filter(
    (operation) =>
      (isForSteps(operation) || alsoOffered.has(operation.name)) &&
      isGrantable(operation.permission) &&
      !taken.has(operation.name) &&
      !kept.has(operation.name),
  );
  made = new Map(offered.map((operation) => [toolName(operation.name), toolOf(operation)]));
  return made;
}
