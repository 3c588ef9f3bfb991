import type { AnyVariables } from '@urql/core';
import { useCallback, useEffect, useRef } from 'react';
import { useQuery } from 'urql';
import type { PageQuery } from './client.ts';
import { type Fault, faultOf } from './faults.ts';

export interface PageData<Data> {
  /** The last answer, also while it is requested again; what could not be read in it is null. */
  data: Data | undefined;
  fault: Fault | null;
  /** There is no answer yet. */
  isLoading: boolean;
  /** Asks again; what is shown stays until then. */
  refresh: () => void;
}

/** What a page shows: what `prefetch` has begun to ask for. */
export function usePageQuery<Data, Variables extends AnyVariables>(page: PageQuery<Data, Variables>): PageData<Data> {
  const [{ data, error, fetching, stale }, execute] = useQuery({ ...page, requestPolicy: 'cache-first' } as never);
  const isBusy = fetching || stale;
  const busy = useRef(false);
  const again = useRef(false);
  const refresh = useCallback(() => {
    // A request that is under way may have been answered before the change that is to be seen.
    if (busy.current) again.current = true;
    else execute({ requestPolicy: 'network-only' });
  }, [execute]);
  useEffect(() => {
    busy.current = isBusy;
    if (isBusy || !again.current) return;
    again.current = false;
    execute({ requestPolicy: 'network-only' });
  }, [isBusy, execute]);
  const fault = error ? faultOf(error) : null;
  const isCutOff = fault?.code === 'NETWORK';
  useEffect(() => {
    if (!isCutOff) return;
    window.addEventListener('online', refresh);
    return () => window.removeEventListener('online', refresh);
  }, [isCutOff, refresh]);
  return {
    data: data as Data | undefined,
    fault,
    isLoading: fetching && !stale && data === undefined,
    refresh,
  };
}
