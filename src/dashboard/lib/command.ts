import type { AnyVariables, OperationContext, TypedDocumentNode } from '@urql/core';
import { useCallback, useState } from 'react';
import { client } from './client.ts';
import { type Fault, faultOf } from './faults.ts';
import { requestProof } from './proof.ts';

/** A command's answer, or why there is none. */
export type Outcome<Data> = { data: Data; fault: null } | { data: Data | null; fault: Fault };

/**
 * Sends a command. Where the server wants the person to prove again who they are, or the session has ended, a dialog requests it over the page,
 * which stays as it is, and the command is sent again.
 * @param context with `additionalTypenames`, queries on the page that hold these types are sent again as well
 */
export async function send<Data, Variables extends AnyVariables>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
  context?: Partial<OperationContext>,
): Promise<Outcome<Data>> {
  for (;;) {
    const { data, error } = await client.mutation(document, variables, context).toPromise();
    if (!error) return { data: data as Data, fault: null };
    const fault = faultOf(error);
    const wanted = { UNAUTHENTICATED: 'session', REAUTHENTICATION_REQUIRED: 'password' } as const;
    const proof = wanted[fault.code as keyof typeof wanted];
    if (proof === undefined || !(await requestProof(proof))) return { data: data ?? null, fault };
  }
}

export interface Command<Data, Variables> {
  run: (variables: Variables) => Promise<Outcome<Data>>;
  isRunning: boolean;
  /** Of the last run; null again when the next begins. */
  fault: Fault | null;
  reset: () => void;
}

/** `send` with its state, for a button or a form. */
export function useCommand<Data, Variables extends AnyVariables>(
  document: TypedDocumentNode<Data, Variables>,
): Command<Data, Variables> {
  const [state, setState] = useState<{ isRunning: boolean; fault: Fault | null }>({ isRunning: false, fault: null });
  const run = useCallback(
    async (variables: Variables) => {
      setState({ isRunning: true, fault: null });
      const outcome = await send(document, variables);
      setState({ isRunning: false, fault: outcome.fault });
      return outcome;
    },
    [document],
  );
  const reset = useCallback(() => setState({ isRunning: false, fault: null }), []);
  return { ...state, run, reset };
}
