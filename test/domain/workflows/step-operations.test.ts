import { expect, it } from 'vitest';
import type { z } from 'zod';
import { catalogue } from '../../../src/domain/catalogue.ts';
import { isForSteps } from '../../../src/domain/workflows/step-operations.ts';

it('steps call nothing that wants a recent proof of who calls, as revealing a secret does', () => {
  const guarded = catalogue.filter(({ recentProof }) => recentProof);
  expect(guarded.map(({ name }) => name)).toContain('crawlers.revealWebhookSecret');
  expect(guarded.filter(isForSteps).map(({ name }) => name)).toEqual([]);
});

it('what holds a secret in an answer says which member it is, so that steps and tools do not get it', () => {
  const named = catalogue.filter(isForSteps).flatMap(({ name, output, shownOnce = [] }) => {
    const { shape = {} } = output as Partial<z.ZodObject>;
    const secrets = Object.keys(shape).filter((member) => /(^|_)(secret|password)$/.test(member));
    return secrets.filter((member) => !shownOnce.includes(member)).map((member) => `${name} ${member}`);
  });
  expect(named).toEqual([]);
});
