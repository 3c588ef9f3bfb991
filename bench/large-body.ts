import { type Benchmark, check } from './benchmark.ts';
import { jsonOf, signed, startHooked } from './support/hooked.ts';
import { load } from './support/load.ts';
import { median } from './support/statistics.ts';

const mebibyte = 1024 * 1024;
/** Large deliveries of one round: each takes more than 50 ms. */
const mostInRound = 60;
const definition = 'portico: workflow/1\nsteps:\n  - {id: a, type: output, value: "1"}\n';

/** What deliveries of the largest size do to small ones that come at the same time. */
export const largeBody: Benchmark = {
  name: 'large-body',
  summary: 'Small webhook calls beside deliveries of 25 MiB, and without them.',
  async run(bench) {
    const rounds = bench.scaled(7, 2);
    const seconds = 3;
    const { server, endpoint, secret } = await startHooked(bench, {
      environment: { PORTICO_ROLES: 'web' },
      definition,
    });
    const body = jsonOf(1024);
    const small = () =>
      load({ url: endpoint, connections: 1, duration: seconds, method: 'POST', headers: signed(secret, body), body });
    const large = Buffer.alloc(25 * mebibyte, 'a');
    // Another one each time: what is kept already is not written again. They are signed beforehand, not beside what is measured.
    const signatures = Array.from({ length: rounds * mostInRound }, (_, number) => {
      large.writeUInt32LE(number);
      return signed(secret, large);
    });
    let sent = 0;
    const send = async () => {
      const headers = signatures[sent];
      check(headers !== undefined, 'more large deliveries than were signed');
      large.writeUInt32LE(sent);
      const response = await fetch(endpoint, { method: 'POST', headers, body: large });
      check(response.status === 202, `A large delivery is answered ${response.status}`);
      await response.arrayBuffer();
      sent += 1;
    };
    await small();
    const before = await server.memory();
    const alone: number[] = [];
    const beside: number[] = [];
    let most = before;
    for (let round = 0; round < rounds; round += 1) {
      alone.push((await small()).max);
      const busy = small();
      let over = false;
      void busy.finally(() => {
        over = true;
      });
      while (!over) await send();
      beside.push((await busy).max);
      most = Math.max(most, await server.memory());
      bench.say(`round ${round + 1} of ${rounds}`);
    }
    return {
      cases: [
        {
          ...{
            name: 'slowest small call of a round, median',
            unit: 'ms',
            value: median(beside),
            runs: rounds,
            atMost: 50,
          },
          peers: [{ name: 'without large ones', value: median(alone) }],
        },
        {
          name: 'slowest of all',
          unit: 'ms',
          value: Math.max(...beside),
          peers: [{ name: 'without large ones', value: Math.max(...alone) }],
        },
        { name: 'memory added', unit: 'MiB', value: most - before, atMost: 60 },
      ],
      notes: [
        `${rounds} rounds of ${seconds} s each way, one connection of small calls of 1 KiB; beside them ${sent} deliveries of 25 MiB, one after another.`,
        'The sender of the large ones shares the machine.',
      ],
    };
  },
};
