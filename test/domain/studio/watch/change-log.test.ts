import { describe, expect, it } from 'vitest';
import { ChangeLog } from '../../../../src/domain/studio/watch/change-log.ts';
import fc from '../../../support/properties.ts';

const newLog = () => new ChangeLog({ now: () => new Date(0) });
const moved = (branch: string, project = 1) => JSON.stringify({ kind: 'branch', project, branch });
const branchesSince = (log: ChangeLog, position: string) =>
  log.since(1, position).changes.map(({ change }) => (change.kind === 'branch' ? change.branch : change.kind));

describe('ChangeLog', () => {
  it('gives each reader every change once and in order, wherever readers stop', () => {
    const steps = fc.array(fc.oneof(fc.constant(null), fc.integer({ min: 1, max: 2 })), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (all) => {
        const log = newLog();
        let { position } = log.since(1, null);
        const read: string[] = [];
        const look = () => {
          read.push(...branchesSince(log, position));
          ({ position } = log.since(1, position));
        };
        for (const [at, project] of all.entries()) project === null ? look() : log.notify(moved(String(at), project));
        look();
        expect(read).toEqual(all.flatMap((project, at) => (project === 1 ? [String(at)] : [])));
      }),
    );
  });

  it('says that changes are missed when more came than it keeps, and from there on it goes on', () => {
    const log = newLog();
    const { position } = log.since(1, null);
    for (let at = 0; at < 1_000; at += 1) log.notify(moved(String(at)));
    expect(log.since(1, position).changes).toHaveLength(1_000);
    log.notify(moved('last'));
    const late = log.since(1, position);
    expect(late).toMatchObject({ changes: [], missed: true });
    log.notify(moved('next'));
    expect(branchesSince(log, late.position)).toEqual(['next']);
  });

  it('does not take a position of another log, nor one that is still to come', () => {
    const log = newLog();
    const { position } = newLog().since(1, null);
    const own = log.since(1, null);
    expect([position, own.positionAt(1), own.positionAt(-1), 'x', ''].map((at) => log.since(1, at).missed)).toEqual([
      true,
      true,
      true,
      true,
      true,
    ]);
  });

  it('wakes a subscriber by changes that concern it, and all of them when the connection is back', () => {
    const log = newLog();
    log.since(1, null);
    let woken = 0;
    const end = log.watch(
      1,
      (change) => change.kind === 'pull',
      () => {
        woken += 1;
      },
    );
    log.notify(moved('a'));
    expect(woken).toBe(0);
    log.setListening(true);
    expect(woken).toBe(1);
    end();
    log.setListening(true);
    expect(woken).toBe(1);
  });
});
