import { beforeAll, expect, it } from 'vitest';
import { authenticateRequest } from '../../src/domain/identity/authenticate.ts';
import { type Actor, permissionNames, systemActor } from '../../src/kernel/actor.ts';
import { DomainError } from '../../src/kernel/errors.ts';
import type { AnyOperation } from '../../src/kernel/operation.ts';
import { run } from '../../src/kernel/run.ts';
import { type JsonSchema, jsonSchemaOf } from '../../src/kernel/shapes.ts';
import { systemCall } from '../../src/server/first-run.ts';
import { seed, shared, studio } from '../support/app.ts';
import { makePerson, signedIn } from '../support/browser.ts';
import { conversationsOf } from '../support/conversations.ts';
import { exportedOperations } from '../support/rights.ts';
import { siteFiles } from '../support/site-files.ts';
import { startExecutingApp, workflows } from '../support/workflows/executing.ts';

const app = shared(startExecutingApp);
const text = 'x\u0000y';
/** Values of fields by their names, so that what an input names is there. */
let known: Record<string, unknown>;
let service: Actor;
let person: Actor;

beforeAll(async () => {
  await seed(app, siteFiles);
  service = systemActor('test', permissionNames, 'portico.test', true);
  const browser = await signedIn(app, await makePerson(app, { email: 'ada@example.org', role: 'owner' }));
  const headers = { cookie: browser.cookie ?? '', 'sec-fetch-site': 'same-origin' };
  person = (await authenticateRequest(app.services, { headers, isSafe: false })) ?? expect.unreachable();
  const crawlers = '/api/v2/organizations/acme/projects/site/crawlers';
  const { body: crawler } = await app.ask('POST', crawlers, { body: { domain: 'docs.example' } });
  const workflow = await app.save({ portico: 'workflow/1', steps: [{ id: 'ask', type: 'wait_for_input' }] });
  const { body: trigger } = await app.ask('POST', `${workflows}/${workflow}/triggers`, { body: { type: 'webhook' } });
  const { body: schedule } = await app.ask('POST', `${crawlers}/${crawler.uuid}/schedules`, {
    body: { schedule_cron_string: '0 0 * * *' },
  });
  const { body: environment } = await app.ask('POST', `${studio}/environments`, {
    body: { name: 'Live', branch: 'main', provider: 'webhook', deploy_webhook_url: 'https://ci.example/build' },
  });
  known = {
    ...{
      crawler_schedule: String(schedule.id),
      environment: environment.id,
      environment_id: environment.id,
      deployment: environment.latest_deployment.id,
    },
    ...{ organization: 'acme', project: 'site', branch: 'main', base: 'main', head: 'main' },
    ...{ collection: 'posts', entry: 'en/alpha', crawler: crawler.uuid },
    ...{ workflow, trigger: trigger.id, execution: await app.begin(workflow) },
    conversation: await conversationsOf(app, browser).begin(),
  };
});

/** Makes inputs of an operation by its schema. */
class Inputs {
  readonly #whole: JsonSchema;

  constructor({ input }: AnyOperation) {
    this.#whole = jsonSchemaOf(input);
  }

  #resolved(schema: JsonSchema): JsonSchema {
    if (schema.$ref === undefined) return schema;
    const name = schema.$ref.replace('#/$defs/', '');
    return name === 'JsonValue' ? {} : this.#resolved(this.#whole.$defs?.[name] as JsonSchema);
  }

  /** A value with nothing that may be absent. */
  least(schema: JsonSchema = this.#whole, name = ''): unknown {
    const { const: only, enum: choices, anyOf, oneOf, type, minimum, ...rest } = this.#resolved(schema);
    const { required = [], properties = {}, minItems = 0, items } = rest;
    if (name in known) return known[name];
    if (only !== undefined) return only;
    const [option] = anyOf ?? oneOf ?? [];
    if (option) return this.least(option as JsonSchema);
    if (choices) return choices[0];
    if (type === 'string') return 'x';
    if (type === 'boolean') return true;
    if (type === 'integer' || type === 'number') return minimum ?? 1;
    if (type === 'array') return Array.from({ length: minItems }, () => this.least(items as JsonSchema));
    if (type !== 'object') return null;
    return Object.fromEntries(required.map((each) => [each, this.least(properties[each] as JsonSchema, each)]));
  }

  /** Values that have the text with NUL in one place, for each place of a text and of a name that is the caller's own. */
  *withNul(schema: JsonSchema = this.#whole): Generator<unknown> {
    const { const: only, enum: choices, anyOf, oneOf, type, ...rest } = this.#resolved(schema);
    const { properties = {}, items, additionalProperties } = rest;
    if (only !== undefined || choices) return;
    for (const option of anyOf ?? oneOf ?? []) yield* this.withNul(option as JsonSchema);
    if (anyOf ?? oneOf) return;
    if (type === undefined) yield* [text, { [text]: text }];
    if (type === 'string') yield text;
    if (type === 'array') for (const item of this.withNul(items as JsonSchema)) yield [item];
    if (type !== 'object') return;
    for (const [name, property] of Object.entries(properties))
      for (const value of this.withNul(property as JsonSchema))
        yield { ...(this.least(schema) as object), [name]: value };
    if (typeof additionalProperties !== 'object') return;
    for (const value of this.withNul(additionalProperties)) yield { a: value };
    yield { [text]: this.least(additionalProperties) };
  }
}

it('no operation fails over NUL in a text of its input: it is refused, or has its answer', async () => {
  const failed: string[] = [];
  const place = { organization: 'acme', project: 'site' };
  let tried = 0;
  // A directory of the server is named by its command line, which no NUL can reach.
  const operations = (await exportedOperations()).filter(({ name }) => !name.startsWith('backups.'));
  for (const operation of operations) {
    const actor = operation.forPersons || operation.permission === 'person' ? person : service;
    for (const input of new Inputs(operation).withNul()) {
      tried += 1;
      const call = { ...systemCall(app.services, actor), browser: { same_origin: true, user_agent: text } };
      await run(operation, call as never, { ...place, ...(input as object) }).catch((error: unknown) => {
        if (!(error instanceof DomainError))
          failed.push(`${operation.name} ${JSON.stringify(input)}: ${String(error)}`);
      });
    }
  }
  expect(failed).toEqual([]);
  expect(tried).toBeGreaterThan(500);
});
