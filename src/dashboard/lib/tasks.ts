/** Long work that was begun on a page and goes on when one leaves it; the tray shows it. */
import { useSyncExternalStore } from 'react';
import { i18n } from './i18n.ts';

export interface Task {
  id: number;
  title: string;
  /** Between 0 and 1; null: it cannot be said. */
  progress: number | null;
  /** What is being done. */
  detail: string;
  state: 'running' | 'done' | 'failed' | 'cancelled';
  /** Page with the result. */
  link: string | null;
  cancel: () => void;
  /** Does it once more; null: that makes no sense, or it has not failed. */
  retry: (() => void) | null;
}

interface Work {
  title: string;
  /** It can be done again as it is when it has failed; default: false. */
  isRepeatable?: boolean;
  /** Calls back with its progress; ends when `signal` is aborted. @returns the page with its result, if it has one */
  run: (report: (progress: number | null, detail?: string) => void, signal: AbortSignal) => Promise<string | undefined>;
}

let tasks: readonly Task[] = [];
let last = 0;
const listeners = new Set<() => void>();

function update(id: number, change: Partial<Task>): void {
  tasks = tasks.map((task) => (task.id === id ? { ...task, ...change } : task));
  for (const listener of listeners) listener();
}

/** Begins long work. Its failure is kept in the tray, and is not thrown. */
export async function startTask(work: Work): Promise<void> {
  const { title, isRepeatable = false, run } = work;
  const id = ++last;
  const controller = new AbortController();
  const task: Task = {
    id,
    title,
    progress: null,
    detail: '',
    state: 'running',
    link: null,
    cancel: () => controller.abort(),
    retry: null,
  };
  tasks = [task, ...tasks];
  update(id, {});
  try {
    const link = await run((progress, detail = '') => update(id, { progress, detail }), controller.signal);
    update(id, { state: 'done', progress: 1, detail: '', link: link ?? null });
  } catch (error) {
    const state = controller.signal.aborted ? 'cancelled' : 'failed';
    const retry = () => {
      tasks = tasks.filter((task) => task.id !== id);
      void startTask(work);
    };
    update(id, {
      state,
      retry: isRepeatable && state === 'failed' ? retry : null,
      detail: state === 'failed' ? String((error as Error).message ?? error) : i18n.t('frame:cancelled'),
    });
  }
}

export function dismissTasks(): void {
  tasks = tasks.filter(({ state }) => state === 'running');
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** The newest first. */
export const useTasks = (): readonly Task[] => useSyncExternalStore(subscribe, () => tasks);
