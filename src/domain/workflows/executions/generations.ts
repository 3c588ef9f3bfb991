/** How often in a row the step of an execution starts one whose step starts another: each may start thousands. */
export const mostGenerations = 5;

/** Header by which a request of a workflow says how many executions have started one another down to the one that sends it. */
export const generationHeader = 'portico-generation';

/** How many executions have started one another down to the one that a webhook's call begins; 0 for calls of others. */
export function generationOfCall(header: string | undefined): number {
  return header !== undefined && /^\d{1,3}$/.test(header) ? Number(header) + 1 : 0;
}
