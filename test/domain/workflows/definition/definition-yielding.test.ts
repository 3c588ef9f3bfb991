import { describe, expect, it } from 'vitest';
import { iterationsDuring } from '../../../support/loop-iterations.ts';
import { read, withSteps } from '../../../support/workflows/definitions.ts';

describe('lets others have their turn', () => {
  const turnsIn = (source: string) =>
    iterationsDuring(async () => {
      const { errors } = await read(source);
      expect(errors).toEqual([]);
    });

  it('while a long text is read', async () => {
    const list = withSteps('  - {id: a, type: fail}', `variables:\n  list: [${'1,'.repeat(20_000)}1]\n`);
    expect(await turnsIn(list)).toBeGreaterThan(1_000);
  });

  it('while many expressions are read', async () => {
    // In one text, so that there is little to read of YAML.
    const templates = withSteps(`  - {id: a, type: http, url: "${'${{1}}'.repeat(4_000)}"}`);
    expect(await turnsIn(templates)).toBeGreaterThan(150);
  });
});
