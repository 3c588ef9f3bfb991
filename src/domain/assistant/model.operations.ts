/**
 * Which model the conversations of an organisation use. Without settings of its own it is the operator's. An organisation may name another
 * protocol, model and key, and where the operator allows it an address. A key goes nowhere but to the origin it was given for: the organisation's
 * not to another address, and the operator's to no address and no model but the operator's.
 */
import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError, fieldError } from '../../kernel/errors.ts';
import type { Services } from '../../kernel/services.ts';
import { changeOf, oneLine, timestamp, webUrl } from '../../kernel/shapes.ts';
import { executeBound } from '../../kernel/sql.ts';
import { defined } from '../../lib/objects.ts';
import { type Model, type ModelSettings, type Models, modelProviders } from '../../ports/model.ts';
import { organizationOperation } from '../projects/operation.ts';
import { OrganizationModel } from './organization-model.entity.ts';

type Own = Pick<OrganizationModel, 'provider' | 'url' | 'model' | 'key' | 'key_origin'>;

/** Settings with the reason why they cannot be used, if there is one, and the field that is at fault. */
interface Choice extends Omit<ModelSettings, 'key'> {
  /** Whose key is sent. */
  key: 'own' | 'usual' | null;
  problem: { field: 'url' | 'model' | 'key'; message: string } | null;
}

const originOf = (url: string) => new URL(url).origin;

/** What a row of settings comes to beside the operator's. */
function choose({ usual, ownAddresses }: Models, own: Own): Choice {
  const url = own.url ?? usual?.url ?? '';
  const provider = own.provider ?? usual?.provider ?? 'openai';
  const name = own.model ?? (own.url === null ? usual?.name : undefined) ?? '';
  const isUsual = own.url === null && provider === usual?.provider && name === usual.name;
  const key = own.key != null ? 'own' : isUsual && usual?.key != null ? 'usual' : null;
  const problem = (field: 'url' | 'model' | 'key', message: string): Choice => ({
    ...{ provider, url, name, key },
    problem: { field, message },
  });
  if (own.url !== null && !ownAddresses)
    return problem('url', 'must be left out: on this server organisations use the address of its own model');
  if (url === '') return problem('url', 'is required: the server has no model of its own');
  if (name === '') return problem('model', 'is required: it belongs to the address');
  if (key === 'own' && own.key_origin !== originOf(url))
    return problem('key', 'was given for another address, and is sent to no other: give it again, or null for none');
  if (key === null && own.url === null && usual?.key != null)
    return problem('key', "is required: the server's key is for its own model alone");
  return { provider, url, name, key, problem: null };
}

const found = async (em: EntityManager, organization_id: number): Promise<OrganizationModel | null> =>
  em.findOne(OrganizationModel, { organization_id }, { disableIdentityMap: true });

const sentenceOf = ({ field, message }: NonNullable<Choice['problem']>): string =>
  `The settings of the organisation's model cannot be used: ${field} ${message}`;

/** Name of the model of an organisation's conversations, and why it cannot be used; null: none is set up. */
export async function describeModel({ models }: Pick<Services, 'models'>, em: EntityManager, organization_id: number) {
  const row = await found(em, organization_id);
  if (!row) return models.usual && { name: models.usual.name, problem: null };
  const { name, problem } = choose(models, row);
  return { name, problem: problem && sentenceOf(problem) };
}

/**
 * Opens the model of an organisation's conversations, for `closeModel()` to close; one that takes no step holds nothing open.
 * @throws DomainError `model_unavailable` without a model, or when its settings cannot be used
 */
export async function openModel(
  { models, secrets }: Pick<Services, 'models' | 'secrets'>,
  em: EntityManager,
  organization_id: number,
): Promise<Model> {
  const row = await found(em, organization_id);
  if (!row) {
    if (models.usual) return models.usual.model;
    throw new DomainError('model_unavailable', noModel);
  }
  const { key: whose, problem, ...choice } = choose(models, row);
  if (problem) throw new DomainError('model_unavailable', sentenceOf(problem));
  const usual = whose === 'usual' ? (models.usual?.key ?? null) : null;
  const key =
    whose === 'own' && row.key != null
      ? await secrets.decrypt(organization_id, 'assistant.key', organization_id, row.version, row.key)
      : usual;
  return models.open(organization_id, { ...choice, key }, row.url != null);
}

/** Closes what `openModel()` opened; the operator's model stays open. */
export async function closeModel({ models }: Pick<Services, 'models'>, model: Model | null): Promise<void> {
  if (model !== null && model !== models.usual?.model) await model.close();
}

export const noModel = 'No model is set up: PORTICO_ASSISTANT_MODEL and PORTICO_ASSISTANT_URL name one';

const provider = z.enum(modelProviders).meta({ id: 'ModelProvider' });

const organizationModel = z
  .object({
    provider: provider.nullable().describe('null: that of the server'),
    url: z.string().nullable().describe('null: the address of the server'),
    model: z.string().nullable().describe('Name of the model; null: that of the server'),
    has_key: z.boolean().describe('Whether a key is stored; it is never returned'),
    problem: z.string().nullable().describe('Why these settings cannot be used as they are'),
    usual: z
      .object({ provider, model: z.string() })
      .meta({ id: 'ServerModel' })
      .nullable()
      .describe('The model of the server; null: it has none'),
    own_addresses: z.boolean().describe('Whether organisations may name an address of their own'),
    updated_at: timestamp.nullable(),
  })
  .meta({ id: 'AssistantModel' });

function record(models: Models, row: OrganizationModel | null): z.output<typeof organizationModel> {
  const { provider = null, url = null, model = null, key = null, updated_at = null } = row ?? {};
  const problem = row && choose(models, row).problem;
  return {
    ...{ provider, url, model, has_key: key !== null, updated_at },
    problem: problem && `${problem.field} ${problem.message}`,
    usual: models.usual && { provider: models.usual.provider, model: models.usual.name },
    own_addresses: models.ownAddresses,
  };
}

export const getModel = organizationOperation({
  name: 'assistant.getModel',
  kind: 'query',
  permission: 'manage_organization',
  confined: 'refused',
  summary: "What an organisation has set of the assistant's model",
  input: z.object({}),
  output: organizationModel,
  execute: async ({ em, services, organization: { id } }) => record(services.models, await found(em, id)),
});

const isPlain = (text: string) => {
  const { username, password, search, hash } = new URL(text);
  return username === '' && password === '' && search === '' && hash === '';
};

export const updateModel = organizationOperation({
  name: 'assistant.updateModel',
  kind: 'command',
  effect: 'external',
  permission: 'manage_organization',
  freshGrant: true,
  confined: 'refused',
  notInSteps: true,
  summary: "Change the assistant's model of an organisation; what is null is the server's",
  input: changeOf({
    provider: provider.nullish().describe('The protocol its address speaks'),
    url: webUrl
      .refine((text) => !URL.canParse(text) || isPlain(text), 'must have no user, query or fragment')
      .nullish()
      .describe('Where the server allows it; never in a private network. Another address needs the key again'),
    model: oneLine(200).nullish().describe('As the provider names it'),
    key: z
      .string()
      .max(4_096)
      .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII characters without spaces')
      .nullish()
      .describe('Kept sealed, and sent only to the origin of the address'),
  }),
  output: organizationModel,
  audit: (_input, _output, { organization: name }) => ({ type: 'organization', id: name }),
  async execute({ em, services, organization: { id }, renewed }, { key, url: given, ...change }) {
    const { models, secrets, http, clock } = services;
    const url = given?.replace(/(?<!\/)\/+$/, '') ?? given;
    // Not within the transaction: a name server may be slow.
    if (url && models.ownAddresses)
      await http.check(new URL(url), {}).catch((cause: unknown) => {
        throw cause instanceof DomainError ? fieldError('invalid_request', 'url', cause.message) : cause;
      });
    await renewed();
    const row = await em.transactional(async (within) => {
      // Changes of one organisation wait for each other: no key may go to an address it was not given with. A data key that is made meanwhile, on
      // another connection, refers to the organisation, so a full lock would wait for itself.
      await executeBound(within, 'select 1 from organization where id = $1 for no key update', [id]);
      const before = await found(within, id);
      const blank = {
        organization_id: id,
        provider: null,
        url: null,
        model: null,
        key: null,
        key_origin: null,
        version: 0,
      };
      const after: OrganizationModel = { ...blank, ...before, ...defined({ ...change, url }), updated_at: clock.now() };
      if (key !== undefined) {
        const address = after.url ?? models.usual?.url;
        Object.assign(after, { key, key_origin: key !== null && address ? originOf(address) : null });
      }
      const { provider, model } = after;
      if ([provider, after.url, model, after.key].every((value) => value === null)) {
        await within.nativeDelete(OrganizationModel, { organization_id: id });
        return null;
      }
      const { problem } = choose(models, after);
      if (problem) throw fieldError('invalid_request', problem.field, problem.message);
      if (typeof key === 'string') {
        after.version += 1;
        after.key = await secrets.encrypt(id, 'assistant.key', id, after.version, key);
      }
      await within.upsert(OrganizationModel, after);
      return after;
    });
    return record(models, row);
  },
});
