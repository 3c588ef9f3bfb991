import type { AnyVariables } from '@urql/core';
import { useCallback } from 'react';
import { useQuery } from 'urql';
import type { PageQuery } from './client.ts';
import { type Fault, faultOf } from './faults.ts';

export interface PageData<Data> {
  /** The last answer, also while it is asked for again; what could not be read in it is null. */
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
  const refresh = useCallback(() => execute({ requestPolicy: 'network-only' }), [execute]);
  return {
    data: data as Data | undefined,
    fault: error ? faultOf(error) : null,
    isLoading: fetching && !stale && data === undefined,
    refresh,
  };
}
