import { writtenForms } from '../../../lib/encodings.ts';
import { anyOf } from '../../../lib/text.ts';
import { DomainError } from '../../errors.ts';
import { templatesIn } from '../definition/check-expressions.ts';
import type { Problem } from '../definition/definition.schema.ts';
import { parseExpression } from '../expressions/parse-expression.ts';
import { referencesOf } from '../expressions/references.ts';
import { secretRecord } from '../secrets.operations.ts';
import { WorkflowSecret } from '../workflow.entity.ts';
import type { StepCall } from './step-call.ts';

/** Names of secrets the templates of a value ask for; null: it may ask for any. */
function namesIn(value: unknown): string[] | null {
  const problems: Problem[] = [];
  const names: string[] = [];
  for (const { text } of templatesIn(value, [], problems, true))
    for (const { root, member } of referencesOf(parseExpression(text))) {
      if (root !== 'secrets') continue;
      if (member === null) return null;
      names.push(member);
    }
  return names;
}

/**
 * Values of the secrets of a call's workflow that a value's templates name.
 * @throws DomainError `not_found` with the reason `secret_not_set` when one is not set, `unavailable` when one cannot be opened
 */
export async function secretsFor(call: StepCall, value: unknown): Promise<Record<string, string>> {
  const { services, organization, workflow_id } = call;
  const names = namesIn(value);
  if (names?.length === 0) return {};
  const where = { workflow_id, ...(names && { name: { $in: names } }) };
  const rows = await services.orm.em.fork().find(WorkflowSecret, where, { disableIdentityMap: true });
  const missing = names?.find((name) => rows.every((row) => row.name !== name));
  // A request without it would go out unsigned, or to another address.
  if (missing !== undefined) {
    const message = `the secret "${missing}" is not set; set it, then retry the execution`;
    throw new DomainError('not_found', message, { details: { reason: 'secret_not_set' } });
  }
  const values: Record<string, string> = {};
  for (const { name, version, ciphertext } of rows) {
    const record = secretRecord(workflow_id, name);
    values[name] = await services.secrets.decrypt(organization.id, 'workflow.secret', record, version, ciphertext);
  }
  return values;
}

/** Takes the values of secrets, however they are written, out of whatever is kept or shown. */
export function redactor(secrets: Readonly<Record<string, string>>): (value: unknown) => unknown {
  const marks = new Map<string, string>();
  const forms = Object.entries(secrets).flatMap(([name, value]) => {
    const written = writtenForms(value);
    for (const form of written) marks.set(form.toLowerCase(), `[secret ${name}]`);
    return written;
  });
  if (forms.length === 0) return (value) => value;
  const anyForm = anyOf(forms);
  const inText = (text: string) => text.replace(anyForm, (found) => marks.get(found.toLowerCase()) ?? '[secret]');
  const redact = (value: unknown): unknown => {
    if (typeof value === 'string') return inText(value);
    if (Array.isArray(value)) return value.map(redact);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [inText(key), redact(item)]));
  };
  return redact;
}
