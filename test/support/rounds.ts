/** Whether disturbances are repeated as often as they are outside CI. */
export const isLong = process.env.PORTICO_TEST_LONG === '1';

/** How often a disturbance is repeated: a few times usually, many times by `npm run test:long`. */
export const rounds = (usual: number, long: number): number => (isLong ? long : usual);
