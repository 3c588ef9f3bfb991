import { readFile } from 'node:fs/promises';

const pageSize = 4096;

/** Pages of memory of a process, resident and of these shared ones (proc_pid_statm(5)); zeros where the system does not report them. */
async function pagesOf(pid: number): Promise<[resident: number, shared: number]> {
  const text = await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => '');
  const [, resident = 0, shared = 0] = text.split(' ').map(Number);
  return [resident, shared];
}

/** Bytes a process has in memory. */
export async function residentBytes(pid: number): Promise<number> {
  const [resident] = await pagesOf(pid);
  return resident * pageSize;
}

/** Bytes a process has for itself. */
export async function ownBytes(pid: number): Promise<number> {
  const [resident, shared] = await pagesOf(pid);
  return Math.max(0, resident - shared) * pageSize;
}
