/** What changed in a file, line by line: in one column or in two, as the person chose last on any page. */
import { SegmentedControl } from '@mantine/core';
import { useLocalStorage, useMediaQuery } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import classes from './diff.module.css';
import { MarkedText } from './marked-text.tsx';
import { type DiffLine, type Pair, pairLines, readPatch, sharedEnds } from './unified-diff.ts';

type Layout = 'unified' | 'split';

/** On a telephone there is room for one column only. */
function useLayout() {
  const [chosen, choose] = useLocalStorage<Layout>({ key: 'portico.diff', defaultValue: 'unified' });
  const isNarrow = useMediaQuery('(max-width: 768px)', false, { getInitialValueInEffect: false });
  return { chosen, choose, layout: isNarrow ? 'unified' : chosen, isNarrow };
}

/** Chooses between one column and two, for all differences on the page. */
export function DiffLayout() {
  const { t } = useTranslation('common');
  const { chosen, choose, isNarrow } = useLayout();
  if (isNarrow) return null;
  const data = [
    { value: 'unified', label: t('diff_unified') },
    { value: 'split', label: t('diff_split') },
  ];
  return (
    <SegmentedControl
      size="xs"
      aria-label={t('diff_layout')}
      data={data}
      value={chosen}
      onChange={(value) => choose(value as Layout)}
    />
  );
}

/** A line's text; what its counterpart lacks is emphasised. */
function LineText({ line, other }: { line: DiffLine; other: DiffLine | null }) {
  const { t } = useTranslation('common');
  const unended = line.isUnended && <span className={classes.note}> {t('diff_unended')}</span>;
  const ends = other && other !== line ? sharedEnds(line.text, other.text) : null;
  const stop = line.text.length - (ends?.end ?? 0);
  // Lines that share little are two lines, not one that was changed.
  const isPart = ends !== null && (ends.start + ends.end) * 3 >= line.text.length && ends.start < stop;
  if (!isPart)
    return (
      <>
        <MarkedText text={line.text} />
        {unended}
      </>
    );
  return (
    <>
      <MarkedText text={line.text.slice(0, ends.start)} />
      <mark className={classes.part}>
        <MarkedText text={line.text.slice(ends.start, stop)} />
      </mark>
      <MarkedText text={line.text.slice(stop)} />
      {unended}
    </>
  );
}

const signs = { same: '', added: '+', removed: '−' } as const;

function Cells({ line, other, number }: { line: DiffLine | null; other: DiffLine | null; number: number | null }) {
  const { t } = useTranslation('common');
  if (!line) return <td colSpan={3} className={classes.blank} />;
  return (
    <>
      <td className={classes.number}>{number}</td>
      <td className={classes.sign} data-kind={line.kind}>
        <span aria-hidden="true">{signs[line.kind]}</span>
        {line.kind !== 'same' && <span className="unseen">{t(`diff_${line.kind}`)}</span>}
      </td>
      <td className={classes.text} data-kind={line.kind} dir="auto">
        <LineText line={line} other={other} />
      </td>
    </>
  );
}

/** What was removed, then what was added, as a unified diff has it. */
function UnifiedRows({ pairs }: { pairs: readonly Pair[] }) {
  const rows: ReactNode[] = [];
  const row = (line: DiffLine, other: DiffLine | null) =>
    rows.push(
      <tr key={rows.length}>
        <td className={classes.number}>{line.before}</td>
        <Cells line={line} other={other} number={line.after} />
      </tr>,
    );
  let added: Pair[] = [];
  const flush = () => {
    for (const [before, after] of added) if (after) row(after, before);
    added = [];
  };
  for (const pair of pairs) {
    const [before, after] = pair;
    if (before === after || !before) flush();
    if (before) row(before, after);
    if (before !== after) added.push(pair);
  }
  flush();
  return rows;
}

function SplitRows({ pairs }: { pairs: readonly Pair[] }) {
  return pairs.map(([before, after], at) => (
    <tr key={at}>
      <Cells line={before} other={after} number={before?.before ?? null} />
      <Cells line={after} other={before} number={after?.after ?? null} />
    </tr>
  ));
}

interface DiffProps {
  /** Unified diff of one file, as the API gives it. */
  patch: string;
  /** It is longer than what is given. */
  isTruncated?: boolean;
  /** What is compared, for screen readers. */
  label: string;
}

export function Diff({ patch, isTruncated = false, label }: DiffProps) {
  const { t } = useTranslation('common');
  const { layout } = useLayout();
  const hunks = readPatch(patch);
  if (hunks.length === 0) return <p className={classes.note}>{t('diff_nothing')}</p>;
  const Rows = layout === 'split' ? SplitRows : UnifiedRows;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard (WCAG 2.1.1)
    <section className={classes.diff} aria-label={label} tabIndex={0}>
      <table data-layout={layout}>
        {hunks.map((hunk, at) => (
          <tbody key={at}>
            {(at > 0 || hunk.heading !== '') && (
              <tr>
                <td colSpan={6} className={classes.heading}>
                  {hunk.heading === '' ? '⋯' : <MarkedText text={hunk.heading} />}
                </td>
              </tr>
            )}
            <Rows pairs={pairLines(hunk.lines)} />
          </tbody>
        ))}
      </table>
      {isTruncated && <p className={classes.note}>{t('diff_truncated')}</p>}
    </section>
  );
}
