import { describe, expect, test } from 'vitest';
import germanEntry from '../../src/dashboard/messages/de/entry.ts';
import germanEnvironment from '../../src/dashboard/messages/de/environment.ts';
import { inside as germanInside } from '../../src/dashboard/messages/de/inside.ts';
import { outside as germanOutside } from '../../src/dashboard/messages/de/outside.ts';
import germanServed from '../../src/dashboard/messages/de/served.ts';
import germanWorkflows from '../../src/dashboard/messages/de/workflows.ts';
import entry from '../../src/dashboard/messages/en/entry.ts';
import environment from '../../src/dashboard/messages/en/environment.ts';
import { inside } from '../../src/dashboard/messages/en/inside.ts';
import { outside } from '../../src/dashboard/messages/en/outside.ts';
import workflows from '../../src/dashboard/messages/en/workflows.ts';
import { consentCodes, endCodes } from '../../src/domain/assistant/conversation.entity.ts';
import { tasks } from '../../src/domain/assistant/tasks.ts';
import { errorCodes } from '../../src/kernel/errors.ts';
import { modelFailures } from '../../src/ports/model.ts';

type Catalogue = Record<string, Record<string, string>>;

/** `namespace:key` → text. */
const textsOf = (catalogue: Catalogue): Map<string, string> =>
  new Map(
    Object.entries(catalogue).flatMap(([namespace, texts]) =>
      Object.entries(texts).map(([key, text]): [string, string] => [`${namespace}:${key}`, text]),
    ),
  );

const placeholdersOf = (text: string): string[] =>
  [...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name = '']) => name).sort();

const english = textsOf({ ...outside, ...inside, entry, environment, workflows });

describe.each([
  [
    'de',
    {
      ...germanOutside,
      ...germanInside,
      entry: germanEntry,
      environment: germanEnvironment,
      workflows: germanWorkflows,
    },
  ],
])('%s', (_code, catalogue) => {
  const texts = textsOf(catalogue);

  test('has each text of English, and no other', () => {
    expect([...texts.keys()].sort()).toEqual([...english.keys()].sort());
  });

  test('fills in what English fills in', () => {
    for (const [key, text] of english)
      expect([key, placeholdersOf(texts.get(key) ?? '')]).toEqual([key, placeholdersOf(text)]);
  });

  test('has no empty text', () => {
    expect([...texts].filter(([, text]) => text.trim() === '')).toEqual([]);
  });
});

test('each text with a number has its forms for one and for several', () => {
  const stems = [...english.keys()].filter((key) => key.endsWith('_one')).map((key) => key.slice(0, -'_one'.length));
  expect(stems.filter((stem) => !english.has(`${stem}_other`))).toEqual([]);
});

/** The message of these names what is at fault (a field, a branch, a limit), which a text by code could not: it is shown in the server's English. */
const specific = [
  'invalid_request',
  'invalid_path',
  'invalid_filter',
  'unauthenticated',
  'forbidden',
  'verification_required',
  'branch_protected',
  'not_found',
  'already_exists',
  'merge_conflict',
  'name_collision',
  'in_use',
  'protected',
  'limit_reached',
  'not_mergeable',
  'not_fast_forward',
  'upstream_diverged',
  'conflict',
  'busy',
  'too_large',
  'validation_failed',
  'frontmatter_invalid',
  'not_editable',
  'invalid_name',
  'no_common_ancestor',
  'nothing_to_merge',
  'upstream_unavailable',
  'model_unavailable',
  'tokens_used',
  // Faults of a program, which the dashboard does not make.
  'method_not_allowed',
  'uri_too_long',
  'idempotency_mismatch',
  'precondition_required',
];

test('every code of the server has a text, or is shown in the English of the server on purpose', () => {
  const translated = errorCodes.filter((code) => english.has(`faults:${code}`));
  expect([...translated, ...specific].sort()).toEqual([...errorCodes].sort());
});

/** Codes of faults of fields, and texts with what is known besides the code. */
const others = ['NETWORK', 'UNAUTHENTICATED', 'wrong_password', 'rate_limited_for_one', 'rate_limited_for_other'];

test('a text for a fault is for a code there is', () => {
  const known = new Set<string>([...errorCodes, ...others]);
  expect(Object.keys(outside.faults).filter((code) => !known.has(code))).toEqual([]);
});

describe('texts that the server gives in English', () => {
  test('have one in German for each code there is', () => {
    const codes = [
      ...endCodes.map((code) => `problem_${code}`),
      'problem_limit_reached',
      'problem_tokens_used',
      ...modelFailures.map((failure) => `problem_model_${failure}`),
      ...consentCodes.map((code) => `consent_${code}`),
      ...tasks.map(({ name }) => `task_${name}`),
    ];
    expect(Object.keys(germanServed).sort()).toEqual(codes.sort());
  });

  test('have the blanks of the task, and name the tools that it names', () => {
    const texts: Record<string, string> = germanServed;
    const toolsOf = (text: string) => [...new Set(text.match(/\b[a-z]+_[a-z]+\b/g))].sort();
    for (const { name, text } of tasks) {
      const german = texts[`task_${name}`] ?? '';
      expect([name, placeholdersOf(german), toolsOf(german)]).toEqual([name, placeholdersOf(text), toolsOf(text)]);
    }
  });
});
