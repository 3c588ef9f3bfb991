import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseCron } from '../../../src/domain/schedules/cron-expression.ts';
import { cronExpression } from '../../support/cron/arbitrary.ts';
import fc from '../../support/properties.ts';

const directory = mkdtempSync(path.join(tmpdir(), 'portico-crontab-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** What the `crontab` of Debian's package cron says of lines: it looks at a file, ends at the first fault, and installs nothing. */
function faultSaidByDebian(expressions: readonly string[]): string | null {
  const file = path.join(directory, 'crontab');
  writeFileSync(file, expressions.map((text) => `${text} true\n`).join(''));
  const { stdout, stderr, error } = spawnSync('crontab', ['-n', file], { encoding: 'utf8' });
  if (error) throw error;
  const said = stdout + stderr;
  const [, line, fault] = /":(\d+): (bad .+)/.exec(said) ?? [];
  if (fault) return `${expressions[Number(line)]}: ${fault}`;
  expect(said).toContain('successfully checked');
  return null;
}

const isTaken = (text: string) => {
  try {
    parseCron(text);
    return true;
  } catch {
    return false;
  }
};

describe("Debian's crontab", () => {
  it('takes every expression that is taken here', () => {
    const expressions = fc.sample(cronExpression, 5_000).filter(isTaken);
    expect(expressions.length).toBeGreaterThan(4_000);
    expect(faultSaidByDebian(expressions)).toBeNull();
  });

  it('refuses with us what is out of range or not understood', () => {
    const refused = [
      '* * * *',
      '60 * * * *',
      '* 24 * * *',
      '* * 0 * *',
      '* * 32 * *',
      '* * * 0 *',
      '* * * 13 *',
      '* * * * 8',
      '*/0 * * * *',
      '1,,2 * * * *',
      '1- * * * *',
      'H * * * *',
      '* * ? * *',
      '* * L * *',
      '* * 15W * *',
      '* * * * 5L',
      '* * * FOO *',
      '* * * MON *',
      'MON * * * *',
    ];
    expect(refused.filter(isTaken)).toEqual([]);
    expect(refused.filter((text) => faultSaidByDebian([text]) === null)).toEqual([]);
  });

  it('takes some that are refused here, because what they say is not what was meant', () => {
    const stricter = ['1.5 * * * *', '* * * * 5#2', '5-1 * * * *', '0 0 31 2 *'];
    expect(stricter.filter(isTaken)).toEqual([]);
    expect(stricter.map((text) => faultSaidByDebian([text]))).toEqual(stricter.map(() => null));
  });
});
