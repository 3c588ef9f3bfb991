import { configureGlobal } from 'fast-check';

export { default } from 'fast-check';

/** Cases are the same in every run, so that no change is refused by chance; `SEED=<integer>` looks at others. */
configureGlobal({ seed: Number(process.env.SEED ?? 20_261_122) });
