/** Proofs of who somebody is, which commands request and a dialog over the page collects (`shell/proof-dialog.tsx`). */

/** `session`: it has ended, sign in again; `password`: the session is good, the command wants a recent proof. */
type Proof = 'session' | 'password';

export interface ProofRequest {
  proof: Proof;
  settle: (proved: boolean) => void;
}

let listener: ((request: ProofRequest) => void) | null = null;
let pending: { proof: Proof; answer: Promise<boolean> } | null = null;

/** Several commands that want a proof at once share one dialog. @returns whether it was given; false on a page without the dialog */
export function requestProof(proof: Proof): Promise<boolean> {
  if (pending?.proof === proof) return pending.answer;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  if (!listener) return Promise.resolve(false);
  pending = { proof, answer: promise.finally(() => (pending = null)) };
  listener({ proof, settle: resolve });
  return pending.answer;
}

/** Requests are shown by `show` from now on. @returns what ends that */
export function collectProofs(show: (request: ProofRequest) => void): () => void {
  listener = show;
  return () => {
    listener = null;
  };
}
