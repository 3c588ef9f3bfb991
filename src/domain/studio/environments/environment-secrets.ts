import type { z } from 'zod';
import { fieldError } from '../../../kernel/errors.ts';
import type { Services } from '../../../kernel/services.ts';
import { newWebhookSecret } from '../../notifications/webhook-secret.ts';
import type { ProjectRef } from '../../projects/project.entity.ts';
import type { Environment, StoredVariable } from './environment.entity.ts';
import type { environmentDraft } from './environments.schema.ts';

type Owner = Pick<ProjectRef, 'organization_id'>;

/** What notifications to an external provider are signed with. */
export const newHookSecret = newWebhookSecret;

/** One secret for the life of an environment, so its version stays 1. */
export const sealHookSecret = ({ secrets }: Pick<Services, 'secrets'>, owner: Owner, uuid: string, secret: string) =>
  secrets.encrypt(owner.organization_id, 'deploy.hook', uuid, 1, secret);

/** @throws DomainError `unavailable` when it cannot be read */
export const openHookSecret = ({ secrets }: Pick<Services, 'secrets'>, owner: Owner, uuid: string, sealed: string) =>
  secrets.decrypt(owner.organization_id, 'deploy.hook', uuid, 1, sealed);

type VariableDraft = NonNullable<z.output<typeof environmentDraft>['variables']>[number];

const placeOf = (uuid: string, name: string) => `${uuid}:${name}`;

/**
 * Variables as they are stored. One given without a value keeps that of the stored one of its name.
 * @throws DomainError `validation_failed` for one that has no value at all
 */
export function sealVariables(
  { secrets }: Pick<Services, 'secrets'>,
  { organization_id }: Owner,
  { uuid, version, variables: stored }: Pick<Environment, 'uuid' | 'version' | 'variables'>,
  drafts: readonly VariableDraft[],
): Promise<StoredVariable[]> {
  const seal = (name: string, value: string) =>
    secrets.encrypt(organization_id, 'environment.variable', placeOf(uuid, name), version, value);
  return Promise.all(
    drafts.map(async ({ name, value, ...flags }, index) => {
      const { secret } = flags;
      const kept = stored.find((one) => one.name === name);
      if (value !== undefined) {
        const text = secret ? { value: await seal(name, value), sealed_at: version } : { value };
        return { name, ...flags, ...text };
      }
      if (!kept) throw fieldError('validation_failed', `variables.${index}.value`, 'is required for a new variable');
      if (kept.secret && !secret)
        throw fieldError('validation_failed', `variables.${index}.value`, 'is required to make a secret one plain');
      if (!kept.secret && secret) return { ...kept, ...flags, value: await seal(name, kept.value), sealed_at: version };
      return { ...kept, ...flags };
    }),
  );
}

/** A variable as a command gets it. */
export type OpenVariable = Omit<StoredVariable, 'sealed_at'>;

/** @throws DomainError `unavailable` when one cannot be read */
export function openVariables(
  { secrets }: Pick<Services, 'secrets'>,
  { organization_id }: Owner,
  uuid: string,
  variables: readonly StoredVariable[],
): Promise<OpenVariable[]> {
  return Promise.all(
    variables.map(async ({ sealed_at, ...variable }) => {
      if (sealed_at === undefined) return variable;
      const place = placeOf(uuid, variable.name);
      const value = await secrets.decrypt(organization_id, 'environment.variable', place, sealed_at, variable.value);
      return { ...variable, value };
    }),
  );
}
