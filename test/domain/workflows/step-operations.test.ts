import { expect, it } from 'vitest';
import { catalogue } from '../../../src/domain/catalogue.ts';
import { isForSteps } from '../../../src/domain/workflows/step-operations.ts';

it('steps call nothing that wants a recent proof of who calls, as revealing a secret does', () => {
  const guarded = catalogue.filter(({ recentProof }) => recentProof);
  expect(guarded.map(({ name }) => name)).toContain('crawlers.revealWebhookSecret');
  expect(guarded.filter(isForSteps).map(({ name }) => name)).toEqual([]);
});
