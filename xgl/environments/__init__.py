"""Games for other frameworks, whose classes are in the files that ``archive export`` writes; this
package has the code that they share, which needs no framework."""
