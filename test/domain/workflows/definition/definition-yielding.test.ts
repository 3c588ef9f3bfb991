import { afterEach, describe, expect, it, vi } from 'vitest';
import { read, withSteps } from '../../../support/workflows/definitions.ts';

describe('lets others have their turn', () => {
  afterEach(() => void vi.restoreAllMocks());

  /** How often others have their turn, where each look at the clock takes a millisecond. */
  async function turnsIn(source: string): Promise<number> {
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => {
      now += 1;
      return now;
    });
    let turns = 0;
    let isOver = false;
    const other = () => {
      turns += 1;
      if (!isOver) setImmediate(other);
    };
    setImmediate(other);
    const { errors } = await read(source);
    isOver = true;
    expect(errors).toEqual([]);
    return turns;
  }

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
