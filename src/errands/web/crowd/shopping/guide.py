"""What a worker is told before shopping: how it goes, what counts, what helps.

What the WebShop paper told its workers (its last appendix), in our own words and for our shop.
"""

from typing import Final

__all__ = ["GUIDE"]

GUIDE: Final = """
<details class="card guide"><summary><h2>How it works</h2></summary>
<ol>
<li><b>Read what is wanted.</b> It stands at the top of every page of the shop: a kind of product,
properties it must have, often a colour, a size or another option, and a price.</li>
<li><b>Search.</b> Write a few words of your own that the right product would have in its text.
Do not paste the whole sentence: too many words find the wrong things. Look at what comes, and
search again with other words. The search is a simple one; quotation marks and the like do
nothing.</li>
<li><b>Look through the results.</b> There are ten on a page, and Next shows more. The blue number
of a product opens it.</li>
<li><b>Choose options.</b> If what is wanted names a size, a colour or the like, click on it on the
product's page, even if the title says it already. An option that reads just like what is wanted is
a good sign that you have the right product.</li>
<li><b>Check.</b> Everything that is wanted should stand in the product's <em>text</em>: its title,
description, features or options. Pictures may help you look, but they do not count: a product that
looks right and does not say so is no match. Keep an eye on the price.</li>
<li><b>Buy, or go on.</b> If it fits, click Buy Now. If not, go back to the results, or back to the
search and try other words. You can buy once.</li>
<li><b>Done.</b> You see a score and a code. Your page here knows by itself that you are done; the
code is your proof, and can be handed in below. The score does not change what you are paid.</li>
</ol>
<h3>An example</h3>
<p>Wanted: <q>a lightweight garden hose, green, 50 feet, for less than 40 dollars</q>. Pasting all
of that is a poor search. <q>lightweight garden hose</q> is a better one; if nothing suits,
<q>expandable hose 50 feet</q> may. A hose whose options list <q>green</q> and <q>50 feet</q> beats
one that is merely green in its picture.</p>
</details>
<details class="card guide"><summary><h2>What makes a good score</h2></summary>
<h3>It goes well for those who</h3>
<ul>
<li>change their search until promising products come up,</li>
<li>open several products, and the next page of results if need be,</li>
<li>find each thing that is wanted in the title, the description or the features,</li>
<li>choose every option that is asked for, nearly word for word.</li>
</ul>
<h3>It goes badly for those who</h3>
<ul>
<li>paste the whole sentence into the search and leave it at that,</li>
<li>take the first product without reading it,</li>
<li>buy something that does not even have the options that are asked for.</li>
</ul>
</details>
"""
"""Markup; nothing in it comes from outside."""
