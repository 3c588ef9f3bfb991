import type { AnyVariables } from '@urql/core';
import { useCallback, useEffect, useRef } from 'react';
import { useQuery } from 'urql';
import { type PageQuery, refresh as refreshQuery } from './client.ts';
import { type Fault, faultOf } from './faults.ts';

export interface PageData<Data> {
  /** The last answer, also while it is requested again and when that fails; what could not be read in it is null. */
  data: Data | undefined;
  /** Of the last request. */
  fault: Fault | null;
  /** There is no answer yet. */
  isLoading: boolean;
  /** Asks again; what is shown stays until then. */
  refresh: () => void;
}

/** Answers about what is shown itself: it is gone, or no longer for this person. Any other fault says nothing about it. */
const verdicts = new Set(['NOT_FOUND', 'FORBIDDEN']);

/** What a page shows: what `prefetch` has begun to load. It stays, with all that is typed in it, while the server cannot say what it is now. */
export function usePageQuery<Data, Variables extends AnyVariables>(page: PageQuery<Data, Variables>): PageData<Data> {
  const [state] = useQuery<Data>({ ...page, requestPolicy: 'cache-first' } as never);
  const { error, fetching, stale, operation } = state;
  const good = useRef<Pick<typeof state, 'data' | 'operation'>>({});
  const fault = error ? faultOf(error) : null;
  if (state.data !== undefined && (fault === null || verdicts.has(fault.code))) good.current = state;
  const data = good.current.operation?.key === operation?.key ? (good.current.data ?? state.data) : state.data;
  // What began on another address, such as a change that began a draft, refreshes what is shown when it ends.
  const latest = useRef(page);
  latest.current = page;
  const refresh = useCallback(() => refreshQuery(latest.current), []);
  const mayFail = useRef(false);
  // A request that is under way may fail although the network is back.
  mayFail.current = fetching || stale || fault?.code === 'NETWORK';
  useEffect(() => {
    const online = () => {
      if (mayFail.current) refresh();
    };
    window.addEventListener('online', online);
    return () => window.removeEventListener('online', online);
  }, [refresh]);
  return {
    data,
    fault,
    isLoading: fetching && !stale && data === undefined,
    refresh,
  };
}
