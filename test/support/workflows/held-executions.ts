import type { Peer } from './peer.ts';
import { executionsOf, startProcesses, threeCalls, until } from './processes.ts';

/** Six executions of three calls, which one worker has brought to the second: the peer does not answer that one. */
export async function startHeldExecutions(peer: Peer) {
  const processes = await startProcesses();
  const executions = await executionsOf(processes, threeCalls(peer.url));
  const worker = await processes.start('worker');
  const ids = await executions.begin(6);
  await until(
    () => peer.counts('/b').length,
    (count) => count === ids.length,
    90,
  );
  return { ...executions, processes, worker, ids };
}
