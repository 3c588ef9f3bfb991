/** A table in Visual: each cell is a field over its own part of the source. */
import type { EditorView } from '@codemirror/view';
import { type KeyboardEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Inline, type MarkdownPlace } from '../markdown.tsx';
import { addColumn, addRow, changeCell, readTable, removeColumn, removeRow, type TextChange } from './table-source.ts';
import classes from './visual.module.css';

interface TableProps {
  view: EditorView;
  /** The element the table is drawn in, by which its place in the text is found. */
  element: HTMLElement;
  source: string;
  place: MarkdownPlace;
}

interface Place {
  row: number;
  column: number;
}

export function Table({ view, element, source, place }: TableProps) {
  const { t } = useTranslation('entry');
  const [open, setOpen] = useState<Place | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const { head, rows } = readTable(source);
  const { readOnly } = view.state;
  const change = (changes: TextChange | readonly TextChange[] | null) => {
    if (changes === null || view.state.readOnly) return;
    const start = view.posAtDOM(element);
    view.dispatch({
      changes: [changes].flat().map(({ from, to, insert }) => ({ from: start + from, to: start + to, insert })),
      userEvent: 'table',
    });
  };
  const leave = () => {
    setOpen(null);
    const end = view.posAtDOM(element) + source.length;
    view.dispatch({ selection: { anchor: Math.min(end + 1, view.state.doc.length) } });
    view.focus();
  };
  const onKeyDown = (event: KeyboardEvent, { row, column }: Place) => {
    if (event.nativeEvent.isComposing) return;
    const step = event.key === 'Tab' ? (event.shiftKey ? -1 : 1) : 0;
    if (event.key === 'Escape') leave();
    else if (event.key === 'Enter' || event.key === 'ArrowDown')
      setOpen(row + 1 < rows.length ? { row: row + 1, column } : null);
    else if (event.key === 'ArrowUp') setOpen(row >= 0 ? { row: row - 1, column } : { row, column });
    else if (step !== 0) {
      const at = (row + 1) * head.length + column + step;
      if (at < 0 || (at >= (rows.length + 1) * head.length && readOnly)) return;
      if (at >= (rows.length + 1) * head.length) change(addRow(source, rows.length - 1));
      setOpen({ row: Math.floor(at / head.length) - 1, column: at % head.length });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const cellAt = (row: number, column: number, text: string) => {
    const isOpen = open?.row === row && open.column === column;
    const name = t('cell', { row: row + 2, column: column + 1 });
    if (isOpen)
      return (
        <input
          // biome-ignore lint/a11y/noAutofocus: the cell was opened by the person
          autoFocus
          aria-label={name}
          className={classes.cell}
          defaultValue={text}
          onChange={(event) => change(changeCell(source, row, column, event.currentTarget.value))}
          onBlur={() => setOpen((now) => (now?.row === row && now.column === column ? null : now))}
          onKeyDown={(event) => onKeyDown(event, { row, column })}
        />
      );
    return (
      <button
        type="button"
        className={classes.cell}
        disabled={readOnly}
        aria-label={`${name}: ${text}`}
        onClick={() => setOpen({ row, column })}
      >
        <Inline text={text} place={place} />
      </button>
    );
  };
  const tool = (label: string, act: () => void, isOff = false) => (
    // The field keeps the focus, so that the tool acts on its cell.
    <button type="button" disabled={isOff} onMouseDown={(event) => event.preventDefault()} onClick={act}>
      {label}
    </button>
  );
  return (
    <div ref={box} className={classes.tableBox}>
      <table>
        <thead>
          <tr>
            {head.map((cell, column) => (
              <th key={column} dir="auto">
                {cellAt(-1, column, cell.text)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {head.map((_, column) => (
                <td key={column} dir="auto">
                  {cellAt(at, column, row[column]?.text ?? '')}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {open && (
        <div className={classes.tableTools} role="toolbar" aria-label={t('table')}>
          {tool(t('row_below'), () => change(addRow(source, open.row)))}
          {tool(t('column_after'), () => change(addColumn(source, open.column)))}
          {tool(t('delete_row'), () => change(removeRow(source, open.row)), open.row < 0)}
          {tool(t('delete_column'), () => change(removeColumn(source, open.column)), head.length < 2)}
        </div>
      )}
    </div>
  );
}
